# SPDX-License-Identifier: Apache-2.0
"""verify: what passes, what fails."""

import json

from command_line import CommandLine, COMPLEX, main, SMALL


class Verify(CommandLine):
    def test_good_matrices(self):
        files = [self.write("small.mtx", SMALL), self.write("c.mtx", COMPLEX), "gen:circuit:500"]
        found = self.good_json("verify", *files)
        self.assertTrue(found["ok"])
        self.assertEqual([m["ok"] for m in found["matrices"]], [True] * 3)
        self.assertIn("csr", found["matrices"][0]["formats"])
        self.assertIn("f32_i32", found["matrices"][0]["types"])
        self.assertIn("c64_i64", found["matrices"][1]["types"])
        self.assertGreater(found["matrices"][0]["checks"], 100)

    def test_refusals_are_noted(self):
        one_sided, grid = self.good_json("verify", "gen:rmat:6:4", "gen:poisson2d5:20")["matrices"]
        self.assertIn("scsr: not symmetric", one_sided["notes"])
        self.assertIn("dia:symmetric=true: not symmetric", one_sided["notes"])
        self.assertEqual(len(set(one_sided["notes"])), len(one_sided["notes"]))
        self.assertEqual(grid["notes"], [])

    def test_one_line_each(self):
        lines = self.good("verify", self.write("small.mtx", SMALL), "gen:rmat:6:4").splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["OK", "OK"])

    def test_odd_matrices(self):
        for k, shape in enumerate(("0 0", "0 4", "4 0", "3 4")):
            self.write(f"{k}.mtx", f"%%MatrixMarket matrix coordinate real general\n{shape} 0\n")
        self.write("nan.mtx", SMALL.replace("1 5 7", "1 5 nan").replace("1 1 1.5", "1 1 -inf"))
        self.write("huge.mtx", SMALL.replace("1 5 7", "1 5 1e300"))
        found = self.good_json("verify", self.folder)
        self.assertEqual(len(found["matrices"]), 6)
        huge = next(m for m in found["matrices"] if m["matrix"] == "huge.mtx")
        self.assertFalse(any(t.startswith("f32") for t in huge["types"]))

    def test_broken_file_fails(self):
        good = self.write("good.mtx", SMALL)
        broken = self.write("broken.mtx", SMALL.replace("4 2 1e-3", "4 9 1e-3"))
        lines = self.bad("verify", good, broken, expect=["1 of 2"]).splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["OK", "FAIL"])
        self.assertIn("broken.mtx:12", lines[1])
        found = json.loads(self.bad("verify", broken, "--json"))
        self.assertFalse(found["ok"])
        self.assertEqual(found["failed"], 1)
        self.bad("verify", self.path("none.mtx"), expect=["1 of 1"])

    def test_all_instruction_sets(self):
        there = [s["name"] for s in self.good_json("devices")["instruction_sets"] if s["available"]]
        found = self.good_json("verify", "gen:circuit:300", "--isa", "all")
        self.assertEqual(found["matrices"][0]["isas"], there)
        broken = self.write("broken.mtx", SMALL[:-9])
        self.assertIn("broken.mtx", self.bad("verify", broken, "--isa", "all"))

    def test_empty_folder(self):
        self.bad("verify", self.folder, expect=["no .mtx"])


if __name__ == "__main__":
    main()
