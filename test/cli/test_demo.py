# SPDX-License-Identifier: Apache-2.0
"""demo: the first thing that a new user runs."""

import os

from command_line import CommandLine, main


class Demo(CommandLine):
    def test_fits_a_screen(self):
        text = self.good("demo", "--threads", 2)
        lines = text.splitlines()
        self.assertLessEqual(len(lines), 40)
        for line in lines:
            self.assertEqual(line, line.rstrip())
        for matrix in ("4elt: ", "rajat01: ", "gen:fem:60000: "):
            self.assertIn(matrix, text)
        self.assertEqual(text.count("  tulle, CSR as given "), 5)
        self.assertEqual(text.count("  tulle, optimize() "), 5)
        self.assertIn("openmp", text.lower())  # drawn, or named as slower
        self.assertRegex(text, r"Geometric mean against the fastest peer: CSR as given [0-9.]+x, optimize\(\) [0-9.]+x\.")
        at = lines.index("Next:")
        self.assertEqual(len(lines), at + 4)

    def test_the_next_commands_work(self):
        text = self.good("demo", "gen:lattice:2000")
        commands = [line.split("   ")[0].split() for line in text[text.index("Next:"):].splitlines()[1:]]
        self.assertEqual(commands[0][1:], ["recommend", "gen:lattice:2000"])
        self.assertIn("lattice", self.good(*commands[0][1:]))
        self.assertEqual(commands[1][1:], ["demo", "YOUR.mtx"])
        self.assertEqual(commands[2][1:4], ["bench", "spmv", "gen:lattice:2000"])

    def test_numbers_divide_as_shown(self):
        found = self.good_json("demo", "gen:lattice:2000", self.write("mine.mtx", "%%MatrixMarket matrix coordinate real general\n"
                                                                        "2 2 2\n1 1 1\n2 2 1\n"))
        self.assertEqual([os.path.basename(m["matrix"]) for m in found["matrices"]], ["gen:lattice:2000", "mine.mtx"])
        for matrix in found["matrices"]:
            names = [c["name"] for c in matrix["contestants"]]
            self.assertTrue({"tulle csr", "tulle optimize", "openmp"} <= set(names), names)
            fastest = min(c["seconds"] for c in matrix["contestants"] if c["peer"])
            for c in matrix["contestants"]:
                self.assertTrue(c["verified"])
                self.assertAlmostEqual(c["against_best_peer"], fastest / c["seconds"])
                self.assertEqual(c["why"] != "", c["name"] == "tulle optimize")

    def test_without_peers_it_says_so(self):
        text = self.good("demo", "gen:lattice:2000", environment={"TULLE_PEERS": self.folder})
        self.assertIn("No peer was built", text)
        self.assertNotIn("x\n", text[:text.index("No peer")])

    def test_bars_are_ascii_where_blocks_may_not_show(self):
        plain = self.good("demo", "gen:lattice:2000", environment={"LC_ALL": "C"})
        self.assertIn("###", plain)
        self.assertTrue(plain.isascii())
        self.assertIn("█", self.good("demo", "gen:lattice:2000", environment={"LC_ALL": "C.UTF-8"}))

    def test_a_file_that_is_missing(self):
        self.bad("demo", self.path("none.mtx"), expect=["none.mtx"])


if __name__ == "__main__":
    main()
