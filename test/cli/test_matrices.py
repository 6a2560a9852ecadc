# SPDX-License-Identifier: Apache-2.0
"""info, gen, recommend, convert: a matrix goes in, what is said and written of it."""

from command_line import CommandLine, COMPLEX, main, SMALL, SYMMETRIC


class Info(CommandLine):
    KEYS = ["matrix", "file", "rows", "cols", "nnz", "density", "type", "duplicates", "order",
            "symmetry", "diagonal", "bandwidth", "diagonals", "row_lengths", "col_lengths",
            "blocks", "values", "memory", "read_seconds"]

    def test_small_file(self):
        found = self.good_json("info", self.write("small.mtx", SMALL))
        self.assertEqual(list(found), self.KEYS)
        self.assertEqual((found["rows"], found["cols"], found["nnz"]), (5, 5, 7))
        self.assertEqual(found["duplicates"], 1)
        self.assertEqual(found["order"], "none")
        self.assertAlmostEqual(found["density"], 7 / 25)
        self.assertEqual(found["symmetry"]["kind"], "none")
        self.assertEqual(found["diagonal"], {"entries": 3, "full": False, "zeros": 0})
        self.assertEqual(found["bandwidth"], {"lower": 2, "upper": 4})
        self.assertEqual(found["diagonals"]["nonempty"], 5)
        self.assertEqual(found["row_lengths"]["max"], 2)
        self.assertEqual(found["row_lengths"]["median"], 1)
        self.assertEqual(found["col_lengths"]["empty"], 1)
        self.assertEqual(found["values"]["zeros"], 1)
        self.assertEqual((found["values"]["min"], found["values"]["max"]), (-1, 7))
        self.assertEqual(found["values"]["smallest"], 1e-3)
        self.assertIn("another", found["file"]["comments"])
        bytes_of = {m["format"]: m["bytes"] for m in found["memory"]}
        self.assertEqual(bytes_of["csr"], 7 * 12 + 6 * 4)
        self.assertEqual(bytes_of["coo"], 7 * 16)

    def test_symmetries(self):
        found = self.good_json("info", self.write("s.mtx", SYMMETRIC))
        self.assertEqual((found["nnz"], found["file"]["entries"]), (5, 4))
        self.assertEqual(found["symmetry"]["kind"], "symmetric")
        self.assertEqual(found["order"], "rows")
        found = self.good_json("info", self.write("c.mtx", COMPLEX))
        self.assertEqual(found["symmetry"]["kind"], "hermitian")
        self.assertEqual(found["type"], "c64_i32")
        skew = SYMMETRIC.replace("symmetric", "skew-symmetric").replace("3 3 4", "3 3 1")
        skew = "\n".join(line for line in skew.splitlines() if line.split()[0] != line.split()[1]
                         or line == "3 3 1") + "\n"
        found = self.good_json("info", self.write("k.mtx", skew))
        self.assertEqual(found["symmetry"]["kind"], "skew-symmetric")
        half = self.good_json("info", "gen:random:50:40:300")
        self.assertEqual(half["symmetry"]["kind"], "none")

    def test_generators(self):
        found = self.good_json("info", "gen:poisson2d5:20")
        self.assertEqual((found["rows"], found["nnz"]), (400, 5 * 400 - 4 * 20))
        self.assertTrue(found["diagonal"]["full"])
        self.assertEqual(found["bandwidth"], {"lower": 20, "upper": 20})
        self.assertEqual(found["diagonals"]["nonempty"], 5)
        self.assertEqual(found["diagonals"]["cover"][-1], {"diagonals": 5, "share": 1.0})
        self.assertIsNone(found["file"])
        sides = self.good_json("info", "gen:fem:300")["blocks"]["sides"]
        blocks = {b["side"]: b["fill"] for b in sides}
        self.assertEqual(blocks[3], 1)
        self.assertLess(blocks[2], 0.9)
        lengths = self.good_json("info", "gen:dense:9")["row_lengths"]
        self.assertEqual((lengths["min"], lengths["median"], lengths["deviation"], lengths["gini"]),
                         (9, 9, 0, 0))
        self.assertEqual(sum(b["count"] for b in lengths["histogram"]), 9)

    def test_nothing_stored(self):
        for shape in ("0 0", "0 4", "4 0", "3 4"):
            text = f"%%MatrixMarket matrix coordinate real general\n{shape} 0\n"
            file = self.write("empty.mtx", text)
            found = self.good_json("info", file)
            self.assertEqual(found["nnz"], 0)
            self.assertIn("entries", self.good("info", file))

    def test_nan_and_infinity(self):
        text = SMALL.replace("1 5 7", "1 5 nan").replace("1 1 1.5", "1 1 -inf")
        values = self.good_json("info", self.write("n.mtx", text))["values"]
        self.assertEqual((values["nans"], values["infs"]), (1, 1))

    def test_text(self):
        text = self.good("info", "gen:circuit:3000")
        for word in ("shape", "symmetry", "bandwidth", "diagonals", "block fill", "#", "csr"):
            self.assertIn(word, text)

    def test_same_for_every_number_of_threads(self):
        one, three = (self.good_json("info", "gen:rmat:14:40", environment={"TULLE_THREADS": n})
                      for n in "13")
        for found in (one, three):
            del found["read_seconds"]
        self.assertEqual(one, three)


class Gen(CommandLine):
    def test_writes_a_file(self):
        for name in ("a.mtx", "a.mtx.gz"):
            made = self.good_json("gen", "poisson2d5:4", "-o", self.path(name))
            self.assertEqual((made["rows"], made["nnz"]), (16, 64))
            lines = self.read(name).splitlines()
            self.assertEqual(lines[0], "%%MatrixMarket matrix coordinate real general")
            self.assertIn("gen:poisson2d5:4", lines[1])
            self.assertEqual(sum(not line.startswith("%") for line in lines), 65)

    def test_prefix_may_be_left_out_or_not(self):
        self.assertEqual(self.good("gen", "rmat:5:3@7"), self.good("gen", "gen:rmat:5:3@7"))
        self.assertNotEqual(self.good("gen", "rmat:5:3@7"), self.good("gen", "rmat:5:3@8"))

    def test_value(self):
        self.assertIn("complex", self.good("gen", "dense:2", "--value", "c64"))

    def test_list(self):
        self.assertIn("rmat", self.good("gen", "--list"))
        names = [g["name"] for g in self.good_json("gen", "--list")["generators"]]
        self.assertIn("poisson2d5", names)
        for name in names:
            self.assertIn(name, self.good("gen", "--list"))


class Recommend(CommandLine):
    def test_names_a_layout_and_what_else_there_was(self):
        text = self.good("recommend", "gen:poisson2d5:200")
        self.assertIn("for 1000 products", text)
        self.assertIn("csr", text)
        said = self.good_json("recommend", "gen:poisson2d5:200", "--calls", "0")
        self.assertEqual(said["layout"], "csr")
        self.assertEqual(said["considered"][0]["layout"], "csr")
        self.assertGreater(len(said["considered"]), 2)
        self.bad("recommend", "gen:poisson2d5:200", "--calls", "-1", expect=["--calls"])


class Convert(CommandLine):
    def convert(self, text, *options, out="out.mtx"):
        self.good("convert", self.write("in.mtx", text), self.path(out), *options)
        return self.read(out).splitlines()

    def entries(self, lines):
        return [tuple(map(float, line.split())) for line in lines if not line.startswith("%")][1:]

    def test_keeps_order_duplicates_and_comments(self):
        lines = self.convert(SMALL)
        self.assertIn("% a comment", lines)
        self.assertIn("% another", lines)
        wanted = [tuple(map(float, line.split())) for line in SMALL.splitlines()[4:]]
        self.assertEqual(self.entries(lines), wanted)

    def test_sums_duplicates(self):
        entries = self.entries(self.convert(SMALL, "--duplicates", "sum"))
        self.assertEqual(len(entries), 7)
        self.assertIn((3, 3, 4.5), entries)

    def test_symmetry(self):
        kept = self.convert(SYMMETRIC)
        self.assertIn("integer symmetric", kept[0])
        self.assertEqual(sorted(self.entries(kept)),
                         [(1, 1, 2), (2, 1, -1), (2, 2, 2), (3, 3, 5)])
        expanded = self.convert(SYMMETRIC, "--symmetry", "expand")
        self.assertIn("integer general", expanded[0])
        self.assertEqual(len(self.entries(expanded)), 5)
        self.assertIn("complex hermitian", self.convert(COMPLEX)[0])

    def test_pattern(self):
        lines = self.convert(SMALL, "--pattern")
        self.assertIn("pattern general", lines[0])
        self.assertEqual(self.entries(lines)[0], (1, 1))
        self.assertIn("pattern symmetric", self.convert(COMPLEX, "--pattern")[0])
        again = self.convert("\n".join(lines) + "\n")
        self.assertIn("pattern", again[0])

    def test_transpose(self):
        lines = self.convert(SMALL, "--transpose")
        self.assertIn("% a comment", lines)
        turned = [tuple(map(float, line.split())) for line in SMALL.splitlines()[4:]]
        self.assertEqual(sorted(self.entries(lines)), sorted((j, i, v) for i, j, v in turned))
        wide = "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 5\n2 1 6\n"
        self.assertEqual(self.convert(wide, "--transpose")[1:], ["3 2 2", "1 2 6", "3 1 5"])
        for text in (SYMMETRIC, COMPLEX):
            self.assertEqual(self.convert(text, "--transpose")[0], self.convert(text)[0])
        self.assertEqual(self.entries(self.convert(COMPLEX, "--transpose")),
                         [(1, 1, 1, 0), (2, 1, 1, -2), (3, 2, 0, 1)])
        self.assertIn("pattern symmetric", self.convert(COMPLEX, "--transpose", "--pattern")[0])

    def test_value(self):
        self.assertIn("complex", self.convert(SMALL, "--value", "c32")[0])
        self.assertIn("real", self.convert(SYMMETRIC, "--value", "f64")[0])
        self.bad("convert", self.write("c.mtx", COMPLEX), self.path("o.mtx"), "--value", "f64",
                 expect=["complex"])

    def test_gzip_and_json(self):
        self.assertEqual(self.entries(self.convert(SMALL, out="o.mtx.gz")),
                         self.entries(self.convert(SMALL)))
        done = self.good_json("convert", "gen:poisson2d5:4", self.path("p.mtx.gz"))
        self.assertEqual((done["rows"], done["entries"]), (16, 64))
        self.assertEqual(self.good_json("info", self.path("p.mtx.gz"))["nnz"], 64)


if __name__ == "__main__":
    main()
