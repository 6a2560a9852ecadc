# SPDX-License-Identifier: Apache-2.0
"""show: the arrays of a matrix, as the head of each format's header draws them."""

import json
import os
import re

from command_line import CommandLine, FORMATS, main, SMALL

HEADERS = os.path.join(os.path.dirname(__file__), "../../include/tulle/format")

EXAMPLE = """%%MatrixMarket matrix coordinate real general
4 4 7
1 1 1
1 3 2
2 2 3
3 4 4
4 1 5
4 2 6
4 3 7
"""
SYMMETRIC_EXAMPLE = """%%MatrixMarket matrix coordinate real symmetric
4 4 6
1 1 1
2 2 3
3 1 2
3 3 4
4 2 6
4 4 5
"""


def header(name):
    """The picture at the head of a format's header, and the options that it is drawn with."""
    with open(os.path.join(HEADERS, name + ".hpp")) as file:
        text = file.read()
    lines = [line[4:] for line in text[:text.index("#pragma once")].splitlines() if line.startswith("///")]
    start = next(k for k, line in enumerate(lines) if line.startswith("    1 . 2 ."))
    drawn = re.search(r'drawn = "(.*?)"', text)
    picture = [line[4:] for line in lines[start:] if line.startswith("    ")]
    return picture, name + (":" + drawn[1] if drawn else "")


def numbers_after(lines, name):
    """The numbers behind a word; '-' is -1, as where a column is padding."""
    for line in lines:
        words = line.split()
        if name in words:
            numbers = []
            for word in words[words.index(name) + 1:]:
                if not re.fullmatch(r"-|-?\d+|0x[0-9a-f]+", word):
                    break
                numbers.append(-1 if word == "-" else int(word, 0))
            if numbers:
                return numbers
    return []


class Show(CommandLine):
    def example(self, name):
        text = SYMMETRIC_EXAMPLE if name == "scsr" else EXAMPLE
        return self.write("example.mtx", text)

    def test_arrays_of_every_format_are_those_of_its_header(self):
        for name in FORMATS:
            # The picture of panels has tiles that are smaller than an option allows.
            if name == "panels":
                continue
            with self.subTest(name):
                picture, layout = header(name)
                file = self.example(name)
                said = self.good("show", file, "--format", layout).splitlines()
                found = self.good_json("show", file, "--format", layout)
                self.assertEqual((found["format"], found["layout"], found["nnz"]), (name, layout,
                                 8 if name == "scsr" else 7))
                for array, has in found["arrays"].items():
                    drawn = numbers_after(picture, array)
                    self.assertEqual(has["values"], drawn, array)
                    self.assertEqual(numbers_after(said, array), drawn, array)

    def test_looks_as_the_header_does(self):
        for name in ("coo", "csr", "csc", "csr5", "scsr"):
            with self.subTest(name):
                picture, layout = header(name)
                said = self.good("show", self.example(name), "--format", layout).splitlines()
                self.assertEqual(said[2:], picture[:len(said) - 2])

    def test_bits_stand_beside_their_word(self):
        for name in ("bcsr", "bcoo", "bccoo", "vbicrs"):
            picture, layout = header(name)
            said = self.good("show", self.example(name), "--format", layout)
            for word in ("pattern", "flag"):
                for line in picture:
                    if f"{word}  " in line and "a bit a" in line:
                        self.assertIn(line[line.index("a bit a"):].rstrip(), said)

    def test_parameters_are_those_chosen(self):
        found = self.good_json("show", self.example("csr5"), "--format", "csr5:sigma=2")
        self.assertEqual(found["parameters"]["sigma"], 2)
        self.assertGreater(found["parameters"]["omega"], 0)
        said = self.good("show", self.example("csr5"), "--format", "csr5:sigma=2")
        self.assertIn("sigma = 2", said)
        self.assertIn("csr5:sigma=2 of f64_i32", said)

    def test_values_of_any_type(self):
        complex_one = self.good_json("show", "gen:dense:1", "--value", "c64")["arrays"]["val"]
        self.assertEqual((complex_one["type"], len(complex_one["values"][0])), ("c64", 2))
        self.assertEqual(self.good_json("show", "gen:dense:1", "--value", "f32")["type"], "f32_i32")
        self.bad("show", "gen:dense:2", "--value", "c64", "--format", "ell", expect=["ell", "c64_i32"])
        # Duplicates are summed, a stored zero is shown, nothing stored is a dot.
        said = self.good("show", self.write("small.mtx", SMALL)).splitlines()
        self.assertEqual([line.split()[:5] for line in said[2:7]],
                         [["1.5", ".", ".", ".", "7"], ["-1", ".", "0", ".", "."],
                          [".", ".", "4.5", ".", "."], [".", "0.001", ".", ".", "."],
                          [".", ".", ".", ".", "2.5"]])

    def test_a_part(self):
        found = self.good_json("show", self.example("csr"), "--rows", "1:4", "--cols", "1:3")
        self.assertEqual((found["rows"], found["cols"]), (3, 2))
        self.assertEqual({name: a["values"] for name, a in found["arrays"].items()},
                         {"row_ptr": [0, 1, 1, 3], "col": [0, 0, 1], "val": [3, 6, 7]})
        rows = self.good_json("show", "gen:poisson2d5:300", "--rows", "1000:1002")
        self.assertEqual(rows["arrays"]["col"]["values"][:5], [700, 999, 1000, 1001, 1300])
        self.assertIn("rows 1000:1002", self.good("show", "gen:poisson2d5:300", "--rows", "1000:1002"))
        self.assertEqual(self.good_json("show", self.example("csr"), "--rows", "2:99")["rows"], 2)
        self.assertEqual(self.good_json("show", self.example("csr"), "--rows", ":1")["nnz"], 2)
        for wrong in ("9:20", "3:2", "1", "a:b", "-1:2", "0:2:4"):
            self.bad("show", self.example("csr"), "--rows", wrong, expect=["--rows", wrong])

    def test_large_matrices_are_refused_with_advice(self):
        self.bad("show", "gen:poisson2d5:300",
                 expect=["448,800 entries", "--limit is 500", "--rows 0:20", "--cols 0:20"])
        self.bad("show", "gen:poisson2d5:300", "--rows", "0:9", "--format", "csc",
                 expect=["col_ptr has 90,001 elements", "--cols 0:20"])
        self.good("show", "gen:poisson2d5:20", "--limit", 3000)

    def test_long_lines_are_cut_between_numbers(self):
        said = self.good("show", "gen:random:12:60:300", "--format", "csr")
        self.assertLessEqual(max(map(len, said.splitlines())), 100)
        found = self.good_json("show", "gen:random:12:60:300")["arrays"]
        for name in ("row_ptr", "col"):
            shown = [int(word) for line in said.splitlines() if line.startswith(name + " ")
                     for word in line.split()[1:]]
            self.assertEqual(shown, found[name]["values"])

    def test_nothing_stored(self):
        for shape in ("0 0", "0 4", "4 0", "3 4"):
            file = self.write("e.mtx", f"%%MatrixMarket matrix coordinate real general\n{shape} 0\n")
            for name in FORMATS:
                if name != "scsr":  # of square ones
                    self.assertEqual(self.good_json("show", file, "--format", name)["nnz"], 0)
                    self.good("show", file, "--format", name)

    def test_what_cannot_be_shown(self):
        self.bad("show", "gen:dense:3", "--format", "papyrus", expect=["papyrus", "csr5", "tulle show --help"])
        self.bad("show", "gen:dense:3", "--format", "csr5:papyrus=2", expect=["papyrus", "omega, sigma"])
        self.bad("show", self.path("none.mtx"), expect=["none.mtx"])


if __name__ == "__main__":
    main()
