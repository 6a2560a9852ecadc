# SPDX-License-Identifier: Apache-2.0
"""solve: systems, their answers as files, and what cannot be solved."""

import json
import os

from command_line import CommandLine, main


class Solve(CommandLine):
    KEYS = ["matrix", "rows", "nnz", "format", "type", "rhs", "jacobi", "tolerance", "converged",
            "iterations", "residual", "true_residual", "seconds", "milliseconds_per_iteration",
            "bytes_per_iteration", "path", "read_seconds"]

    # 4 1; 1 3, and 1 2 as an array: x is 1/11, 7/11.
    MATRIX = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n"
    RHS = "%%MatrixMarket matrix array real general\n2 1\n1\n2\n"

    def values(self, name):
        lines = [line for line in self.read(name).splitlines() if not line.startswith("%")]
        return lines[0], [tuple(map(float, line.split())) for line in lines[1:]]

    def test_generator(self):
        found = self.good_json("solve", "gen:poisson2d5:40", "--threads", 2)
        self.assertEqual(list(found), self.KEYS)
        self.assertTrue(found["converged"])
        self.assertLessEqual(found["true_residual"], 1e-8)
        self.assertEqual((found["rows"], found["format"], found["rhs"]), (1600, "csr", "ones"))
        self.assertRegex(found["path"], r"csr rows: \d+ equal.*shifted, 2 threads$")
        self.assertGreater(found["milliseconds_per_iteration"], 0)
        text = self.good("solve", "gen:poisson2d5:40")
        for word in ("solved in", "iterations", "residual", "ms per iteration", "csr rows"):
            self.assertIn(word, text)

    def test_every_format_and_type(self):
        for name in self.good_json("devices")["formats"]:
            found = self.good_json("solve", "gen:poisson2d5:20", "--format", name, "--jacobi")
            self.assertEqual((found["format"], found["converged"]), (name, True))
            self.assertIn(name, found["path"])
        found = self.good_json("solve", "gen:poisson2d5:20", "--value", "f32")
        self.assertEqual((found["type"], found["tolerance"]), ("f32_i32", 1e-5))
        self.assertTrue(self.good_json("solve", "gen:poisson2d5:9", "--value", "c64")["converged"])

    def test_right_side_and_answer_are_files(self):
        matrix, rhs = self.write("a.mtx", self.MATRIX), self.write("b.mtx", self.RHS)
        self.good("solve", matrix, "--rhs", rhs, "--tolerance", 1e-14, "-o", self.path("x.mtx"))
        self.assertTrue(self.read("x.mtx").startswith("%%MatrixMarket matrix array real general\n"))
        size, values = self.values("x.mtx")
        self.assertEqual(size, "2 1")
        for (value,), expected in zip(values, (1 / 11, 7 / 11)):
            self.assertAlmostEqual(value, expected, 14)
        self.good("solve", matrix, "--rhs", self.path("x.mtx"))
        sparse = self.write("s.mtx",
                            "%%MatrixMarket matrix coordinate real general\n2 1 1\n2 1 3\n")
        self.good("solve", matrix, "--rhs", sparse, "-o", self.path("y.mtx"))
        self.assertAlmostEqual(self.values("y.mtx")[1][1][0], 12 / 11)
        self.good("solve", matrix, "--rhs", rhs, "--value", "c64", "-o", self.path("z.mtx"))
        self.assertEqual([v[1] for v in self.values("z.mtx")[1]], [0, 0])

    def test_same_answer_for_every_number_of_threads(self):
        for n in "13":
            self.good("solve", "gen:poisson2d5:200", "--threads", n, "-o", self.path(n))
        self.assertEqual(self.read("1"), self.read("3"))

    def test_not_converged_is_exit_status_one(self):
        out = self.path("x.mtx")
        said = self.bad("solve", "gen:poisson2d5:40", "--iterations", 3, "-o", out,
                        expect=["poisson2d5:40", "not solved after 3 iterations", "1e-08"])
        self.assertIn("not solved", said)
        self.assertFalse(os.path.exists(out))
        found = json.loads(self.bad("solve", "gen:poisson2d5:40", "--iterations", 3, "--json"))
        self.assertEqual((found["converged"], found["iterations"]), (False, 3))

    def test_what_cannot_be_solved(self):
        matrix, rhs = self.write("a.mtx", self.MATRIX), self.write("b.mtx", self.RHS)
        indefinite = self.write("i.mtx", self.MATRIX.replace("2 2 3\n", "2 2 -9\n", 2)
                                .replace("2 2 -9\n", "2 2 3\n", 1))
        self.bad("solve", indefinite, expect=["not positive definite", "p^T A p = -3"])
        self.bad("solve", indefinite, "--jacobi", expect=["row 1", "-9"])
        self.bad("solve", "gen:random:5:4:9", expect=["5 x 4", "square"])
        self.bad("solve", "gen:poisson2d5:3", "--rhs", rhs, expect=["b.mtx", "2 x 1", "9 x 1"])
        self.bad("solve", matrix, "--rhs", matrix, expect=["a.mtx", "2 x 2", "2 x 1"])
        self.bad("solve", matrix, "--rhs", self.path("none.mtx"), expect=["none.mtx"])
        self.bad("solve", matrix, "-o", os.path.join(self.folder, "no", "x.mtx"), expect=["x.mtx"])
        nan = self.write("n.mtx", self.MATRIX.replace("2 1 1", "2 1 nan"))
        self.bad("solve", nan, expect=["row 0 of A", "not finite"])
        for option in (["--tolerance", -1], ["--iterations", 0], ["--threads", -1],
                       ["--format", "papyrus"], ["--value", "f16"]):
            self.bad("solve", matrix, *option, expect=["tulle solve --help"])

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        os.symlink("/dev/full", self.path("x.mtx.part"))
        self.bad("solve", "gen:poisson2d5:40", "-o", self.path("x.mtx"), expect=["x.mtx"])
        self.assertFalse(os.path.exists(self.path("x.mtx")))


if __name__ == "__main__":
    main()
