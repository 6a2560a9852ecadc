# SPDX-License-Identifier: Apache-2.0
"""Files that claim more than they hold: memory follows what is there, and errors name the file."""

import command_line
import os
import subprocess
import zlib

from command_line import CommandLine, main, SMALL

HEAD = "%%MatrixMarket matrix coordinate real general\n"
MOST = 64 << 10  # KiB above an ordinary run

ABSURD_ROWS = HEAD + "3000000000 3 2\n3000000000 1 1\n2 3 1\n"
ABSURD_COLUMNS = HEAD + "3 3000000000 2\n3 1 1\n1 3000000000 1\n"
ABSURD_BOTH = HEAD + "3000000000 3000000000 2\n3000000000 1 1\n1 1 2\n"
ABSURD_SYMMETRIC = ABSURD_BOTH.replace("general", "symmetric")
BEYOND = HEAD + "9000000000000000000 9000000000000000000 2\n9000000000000000000 1 1\n1 1 2\n"
HELD = {"rows": ABSURD_ROWS, "columns": ABSURD_COLUMNS, "both": ABSURD_BOTH, "symmetric": ABSURD_SYMMETRIC,
        "skew": ABSURD_SYMMETRIC.replace("symmetric", "skew-symmetric").replace("1 1 2", "2 1 2"),
        "integer": ABSURD_BOTH.replace("real", "integer"), "beyond": BEYOND,
        "nothing": HEAD + "3000000000 3000000000 0\n", "many": HEAD + "4000000 4000000 1\n3 4000000 1\n",
        "empty": "%%MatrixMarket matrix array real general\n0 3000000000\n"}
BROKEN = {"entries": HEAD + "3 3 1000000000000\n1 1 1\n",
          "all": HEAD + "3000000000 3000000000 3000000000\n1 1 1\n",
          "array": "%%MatrixMarket matrix array real general\n3000000000 3000000000\n1\n",
          "array32": "%%MatrixMarket matrix array real general\n2000000000 2000000000\n1\n",
          "triangle": "%%MatrixMarket matrix array real symmetric\n3000000000 3000000000\n1\n"}


class Hostile(CommandLine):
    def peak(self, *arguments):
        """Most KiB that a run had in memory, its status and what it said on stderr."""
        done = subprocess.Popen([command_line.TULLE, *map(str, arguments)], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)
        said = done.stderr.read().decode()
        done.stderr.close()
        _, status, usage = os.wait4(done.pid, 0)
        done.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_maxrss, done.returncode, said

    def usual(self, *arguments):
        return self.peak(arguments[0], self.write("usual.mtx", SMALL), *arguments[1:])[0]

    def check(self, status, *arguments, usual):
        peak, code, said = self.peak(*arguments)
        self.assertEqual(code, status, (arguments, said))
        self.assertLess(peak - usual, MOST, arguments)
        return said

    def bomb(self, name, piece, before, after, members=1, size=60 << 20):
        """A gzip file of far more text than bytes; made in pieces, for the peak of this process is inherited."""
        with open(self.path(name), "wb") as file:
            def member(pieces):
                z = zlib.compressobj(9, zlib.DEFLATED, 31)
                for p in pieces:
                    file.write(z.compress(p))
                file.write(z.flush())
            many = piece * ((1 << 20) // len(piece))
            member([before.encode()])
            for _ in range(members):
                member([many] * (size // members // len(many)))
            member([after.encode()])
        return self.path(name)

    def test_info_of_what_is_held(self):
        usual = self.usual("info")
        for name, text in HELD.items():
            file = self.write(name + ".mtx", text)
            for options in ((), ("--json", "--exact")):
                self.assertEqual(self.check(0, "info", file, *options, usual=usual), "")

    def test_info_of_hypersparse_matrices_is_right(self):
        found = self.good_json("info", self.write("both.mtx", ABSURD_BOTH))
        self.assertEqual((found["rows"], found["cols"], found["nnz"]), (3000000000, 3000000000, 2))
        self.assertEqual(found["type"], "f64_i64")
        self.assertEqual(found["symmetry"]["kind"], "none")
        self.assertEqual(found["diagonal"], {"entries": 1, "full": False, "zeros": 0})
        self.assertEqual(found["bandwidth"], {"lower": 2999999999, "upper": 0})
        self.assertEqual(found["diagonals"]["nonempty"], 2)
        self.assertEqual((found["row_lengths"]["empty"], found["col_lengths"]["empty"]), (2999999998, 2999999999))
        self.assertEqual(found["col_lengths"]["max"], 2)
        self.assertEqual([b["blocks"] for b in found["blocks"]["sides"]], [2] * 5)
        bytes_of = {m["format"]: m["bytes"] for m in found["memory"]}
        self.assertEqual((bytes_of["coo"], bytes_of["csr"]), (2 * 24, 2 * 16 + 8 * 3000000001))
        mirrored = self.good_json("info", self.write("s.mtx", ABSURD_SYMMETRIC))
        self.assertEqual((mirrored["nnz"], mirrored["symmetry"]["kind"]), (3, "symmetric"))

    def test_hypersparse_and_ordinary_analyses_agree(self):
        """The same entries with many empty rows and columns behind them, and with few."""
        entries = "".join(f"{i} {(7 * i * i) % 61 + 1} {i}\n" for i in range(1, 60))
        few, many = (self.good_json("info", self.write("m.mtx", HEAD + f"{n} {n} 59\n" + entries))
                     for n in (61, 61 << 20))
        for key in ("bandwidth", "blocks", "values", "duplicates", "order"):
            self.assertEqual(few[key], many[key], key)
        self.assertEqual(few["diagonals"], many["diagonals"])
        self.assertEqual(few["diagonal"]["entries"], many["diagonal"]["entries"])
        for key in ("pattern", "symmetric", "skew_symmetric"):
            self.assertEqual(few["symmetry"][key], many["symmetry"][key], key)
        for key in ("row_lengths", "col_lengths"):
            self.assertEqual(few[key]["histogram"][1:], many[key]["histogram"][1:], key)
            self.assertEqual(few[key]["empty"] + (61 << 20) - 61, many[key]["empty"], key)

    def test_claims_are_refused_by_name(self):
        for command, *more in (["info"], ["spy", "-o", self.path("a.png")], ["solve"], ["recommend"],
                               ["convert", self.path("out.mtx")]):
            usual = self.usual(command, *more)
            for name, text in BROKEN.items():
                said = self.check(1, command, self.write(name + ".mtx", text), *more, usual=usual)
                self.assertIn(name + ".mtx", said)

    def test_vectors_as_long_as_a_claim_are_refused_by_name(self):
        bench = ["bench", "spmv", "--quick", "--formats", "csr", "--peers", "none", "--index", "i64"]
        for command, *more in (["solve"], ["recommend"], ["convert", self.path("out.mtx"), "--transpose"], bench):
            usual = self.usual(command, *more) if command != "bench" else self.usual("recommend")
            for name in ("rows", "columns", "both", "symmetric", "beyond"):
                file = self.write(name + ".mtx", HELD[name])
                at = [command, *more[:1], file, *more[1:]] if command == "bench" else [command, file, *more]
                said = self.check(1, *at, usual=usual)
                self.assertIn(name + ".mtx: ", said)
                self.assertRegex(said, "[39]000000000+ (rows|columns) but 2 entries")

    def test_verify_names_the_file(self):
        usual = self.usual("recommend")
        for name in ("rows", "columns", "both"):
            file = self.write(name + ".mtx", HELD[name])
            self.check(1, "verify", file, usual=usual)
            self.assertRegex(self.bad("verify", file), name + ".mtx: 3000000000 (rows|columns) but 2 entries")

    def test_sizes_beyond_the_index_name_the_file(self):
        said = self.bad("bench", "spmv", self.write("rows.mtx", ABSURD_ROWS), "--quick", "--index", "i32",
                        expect=["rows.mtx:2", "3000000000 rows", "32-bit"])
        self.assertEqual(said, "")

    def test_hypersparse_matrices_are_drawn_and_converted(self):
        for command, *more in (["spy", "-o", self.path("a.png")], ["convert", self.path("out.mtx")],
                               ["convert", self.path("out.mtx"), "--duplicates", "sum"]):
            usual = self.usual(command, *more)
            for name, text in HELD.items():
                self.check(0, command, self.write(name + ".mtx", text), *more, usual=usual)
        self.good("convert", self.write("s.mtx", ABSURD_SYMMETRIC), self.path("out.mtx"))
        self.assertEqual(sorted(self.read("out.mtx").splitlines()[2:]), ["1 1 2", "3000000000 1 1"])

    def test_gzip_bombs(self):
        sizes, entry = "1 1 1\n", "1 1 7\n"
        usual = self.usual("info")
        for name, piece in {"blanks": b"\n", "spaces": b" \n", "comments": b"% x\n"}.items():
            self.check(0, "info", self.bomb(name + ".gz", piece, HEAD + sizes, entry), usual=usual)
            self.check(0, "info", self.bomb(name + ".gz", piece, HEAD, sizes + entry), "--json", usual=usual)
        self.check(0, "info", self.bomb("members.gz", b"\n", HEAD + sizes, entry, members=60), usual=usual)
        for name, before in {"endless": HEAD, "endless_entries": HEAD + sizes, "endless_comment": HEAD + "%"}.items():
            said = self.check(1, "info", self.bomb(name + ".gz", b" ", before, "\n" + entry), usual=usual)
            self.assertIn(name + ".gz", said)
            self.assertIn("longer than", said)
        said = self.check(1, "info", self.bomb("more.gz", b"\n", HEAD, sizes + entry, size=200 << 20), usual=usual)
        self.assertIn("more.gz", said)

    def test_empty_members(self):
        with open(self.path("members.gz"), "wb") as file:
            z = zlib.compressobj(9, zlib.DEFLATED, 31)
            empty = z.flush()
            for _ in range(200):
                file.write(empty * 1000)
        said = self.check(1, "info", self.path("members.gz"), usual=self.usual("info"))
        self.assertIn("members.gz", said)


if __name__ == "__main__":
    main()
