# SPDX-License-Identifier: Apache-2.0
"""The command line from outside: what it prints, what it writes, how it fails.

python3 test_cli.py TULLE [unittest options]; TULLE is the program to test.
"""

import gzip
import json
import os
import pty
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

TULLE = "tulle"

# 5 x 5, its corners stored; unsymmetric, one zero, one duplicate, rows not in order.
SMALL = """%%MatrixMarket matrix coordinate real general
% a comment
% another
5 5 8
1 1 1.5
5 5 2.5
2 1 -1
2 3 0
3 3 4
3 3 0.5
1 5 7
4 2 1e-3
"""

SYMMETRIC = """%%MatrixMarket matrix coordinate integer symmetric
% one triangle
3 3 4
1 1 2
2 1 -1
2 2 2
3 3 5
"""

COMPLEX = """%%MatrixMarket matrix coordinate complex hermitian
3 3 3
1 1 1 0
2 1 1 2
3 2 0 -1
"""

COMMANDS = ["info", "gen", "convert", "spy", "recommend", "verify", "solve", "devices", "bench"]


def run(*arguments, environment=None):
    return subprocess.run([TULLE, *map(str, arguments)], capture_output=True, timeout=300,
                          env={**os.environ, **(environment or {})})


def read_png(data):
    """Width, height and rows of (r, g, b), of a PNG of 8-bit RGB without interlace."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + size]
        (check,) = struct.unpack(">I", data[at + 8 + size:at + 12 + size])
        assert zlib.crc32(kind + chunk) == check
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", chunk)
            assert (depth, colour, interlace) == (8, 2, 0)
        elif kind == b"IDAT":
            body += chunk
        at += 12 + size
    raw = zlib.decompress(body)
    rows, before = [], bytearray(3 * width)
    for y in range(height):
        start = y * (3 * width + 1)
        how, line = raw[start], bytearray(raw[start + 1:start + 1 + 3 * width])
        for x in range(3 * width):
            left = line[x - 3] if x >= 3 else 0
            up = before[x]
            corner = before[x - 3] if x >= 3 else 0
            if how == 1:
                line[x] = (line[x] + left) & 255
            elif how == 2:
                line[x] = (line[x] + up) & 255
            elif how == 3:
                line[x] = (line[x] + (left + up) // 2) & 255
            elif how == 4:
                guess = left + up - corner
                nearest = min((abs(guess - left), 0, left), (abs(guess - up), 1, up),
                              (abs(guess - corner), 2, corner))[2]
                line[x] = (line[x] + nearest) & 255
        rows.append([tuple(line[3 * x:3 * x + 3]) for x in range(width)])
        before = line
    return width, height, rows


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def read(self, name):
        opened = gzip.open if name.endswith(".gz") else open
        with opened(self.path(name), "rt") as file:
            return file.read()

    def good(self, *arguments, **options):
        """Standard output of a call that succeeds and says nothing on stderr, a pipe here."""
        done = run(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout.decode()

    def good_json(self, *arguments, **options):
        return json.loads(self.good(*arguments, "--json", **options))

    def bad(self, *arguments, expect=(), **options):
        """Status 1 and one line on stderr that holds each of the words."""
        done = run(*arguments, **options)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, 1, (arguments, text))
        self.assertTrue(text.startswith("tulle: ") and text.endswith("\n"), text)
        self.assertEqual(text.count("\n"), 1, text)
        for word in expect:
            self.assertIn(word, text)
        return done.stdout.decode()


class Overview(CommandLine):
    def test_alone_lists_the_commands(self):
        text = self.good()
        for command in COMMANDS:
            self.assertIn(f"tulle {command} ", text)

    def test_version(self):
        self.assertRegex(self.good("--version"), r"^tulle \d+\.\d+\.\d+\n$")

    def test_every_command_has_help(self):
        self.assertIn("info", self.good("--help"))
        for command in COMMANDS:
            self.assertIn("--help", self.good(command, "--help"))
        for command in COMMANDS[:-1]:
            text = self.good(command, "--help")
            self.assertIn("--json", text)
            self.assertIn(f"tulle {command} ", text)  # an example

    def test_bad_usage_is_one_line(self):
        self.bad("frobnicate", expect=["frobnicate", "tulle --help"])
        self.bad("info", expect=["MATRIX", "tulle info --help"])
        self.bad("info", "--nonsense", "gen:dense:3", expect=["--nonsense", "tulle info --help"])
        self.bad("spy", "gen:dense:3", "-o", self.path("a.png"), "--size", "many", expect=["size"])
        self.bad("convert", "a", "b", "--symmetry", "perhaps", expect=["keep", "expand"])
        self.bad("gen", expect=["SPEC"])

    def test_wrong_instruction_set(self):
        self.bad("verify", "gen:dense:3", environment={"TULLE_ISA": "abacus"}, expect=["abacus"])

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([TULLE, "devices"], stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"standard output", done.stderr)


class Errors(CommandLine):
    def test_missing_file(self):
        for command in (["info"], ["spy", "-o", self.path("a.png")]):
            self.bad(*command, self.path("none.mtx"), expect=["none.mtx"])
        self.bad("convert", self.path("none.mtx"), self.path("out.mtx"), expect=["none.mtx"])

    def test_bad_generator(self):
        for spec in ("gen:nonsense:3", "gen:rmat", "gen:poisson2d5:x"):
            self.bad("info", spec)
        self.bad("gen", "nonsense:3", "-o", self.path("a.mtx"), expect=["nonsense"])
        self.assertFalse(os.path.exists(self.path("a.mtx")))

    def test_broken_file_names_its_line(self):
        broken = self.write("broken.mtx", SMALL.replace("4 2 1e-3", "4 9 1e-3"))
        for command in (["info"], ["spy", "-o", self.path("a.png")]):
            self.bad(*command, broken, expect=["broken.mtx:12", "9"])

    def test_unwritable_output(self):
        there = os.path.join(self.folder, "no", "such", "folder")
        self.bad("gen", "dense:3", "-o", os.path.join(there, "a.mtx"), expect=["a.mtx"])
        self.bad("spy", "gen:dense:3", "-o", os.path.join(there, "a.png"), expect=["a.png"])
        self.bad("convert", "gen:dense:3", os.path.join(there, "a.mtx.gz"), expect=["a.mtx.gz"])


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


class Spy(CommandLine):
    def picture(self, matrix, *options):
        told = self.good_json("spy", matrix, "-o", self.path("a.png"), *options)
        with open(self.path("a.png"), "rb") as file:
            width, height, rows = read_png(file.read())
        self.assertEqual((told["width"], told["height"]), (width, height))
        return told, rows

    @staticmethod
    def brightness(pixel):
        return sum(pixel) / 3

    def test_small_matrix_is_crisp(self):
        told, rows = self.picture(self.write("small.mtx", SMALL), "--size", "200")
        self.assertLessEqual(max(told["width"], told["height"]), 200)
        self.assertGreater(told["width"], 150)
        stored = {(0, 0), (4, 4), (1, 0), (1, 2), (2, 2), (0, 4), (3, 1)}
        high, wide = told["cell"]
        for i in range(5):
            for j in range(5):
                row = rows[told["top"] + i * high + high // 2]
                pixel = row[told["left"] + j * wide + wide // 2]
                if (i, j) in stored:
                    self.assertLess(self.brightness(pixel), 130, (i, j))
                else:
                    self.assertEqual(pixel, (255, 255, 255), (i, j))
        # The corners of the matrix are the first and last pixels inside the frame.
        self.assertLess(self.brightness(rows[told["top"]][told["left"]]), 130)
        self.assertLess(self.brightness(rows[-1 - told["top"]][-1 - told["left"]]), 130)
        self.assertEqual(rows[0][0], (255, 255, 255))

    def test_large_matrix_fills_the_size(self):
        told, rows = self.picture("gen:poisson2d5:60", "--size", "300")
        self.assertEqual((told["width"], told["height"]), (300, 300))
        top, left = told["top"], told["left"]
        self.assertLess(self.brightness(rows[top][left]), 150)
        self.assertLess(self.brightness(rows[-1 - top][-1 - left]), 150)
        self.assertEqual(rows[top][-1 - left], (255, 255, 255))
        self.assertEqual(rows[-1 - top][left], (255, 255, 255))

    def test_one_entry_in_a_huge_matrix_shows(self):
        text = "%%MatrixMarket matrix coordinate pattern general\n100000 100000 1\n50001 50001\n"
        told, rows = self.picture(self.write("one.mtx", text), "--size", "200")
        edge = told["top"]
        inside = [p for row in rows[edge:-edge] for p in row[edge:-edge]]
        self.assertLess(min(map(self.brightness, inside)), 150)

    def test_any_shape(self):
        for spec in ("gen:random:10:5000:600", "gen:random:5000:10:600", "gen:random:1:1:1"):
            told, _ = self.picture(spec, "--size", "400")
            self.assertLessEqual(max(told["width"], told["height"]), 400)
            self.assertGreater(min(told["width"], told["height"]), 50)
        for shape in ("0 0", "0 9", "9 0", "3 3"):
            text = f"%%MatrixMarket matrix coordinate real general\n{shape} 0\n"
            self.picture(self.write("e.mtx", text))

    def test_dark(self):
        told, rows = self.picture("gen:dense:3", "--dark", "--size", "100")
        self.assertLess(self.brightness(rows[0][0]), 60)
        self.assertGreater(self.brightness(rows[told["top"]][told["left"]]), 100)

    def test_same_for_every_number_of_threads(self):
        pictures = []
        for n in "13":
            self.good("spy", "gen:rmat:14:40", "-o", self.path(n), environment={"TULLE_THREADS": n})
            with open(self.path(n), "rb") as file:
                pictures.append(file.read())
        self.assertEqual(*pictures)


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
        self.assertIn("csr rows, 2 threads", found["path"])
        self.assertGreater(found["milliseconds_per_iteration"], 0)
        text = self.good("solve", "gen:poisson2d5:40")
        for word in ("solved in", "iterations", "residual", "ms an iteration", "csr rows"):
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
        for option in (["--tolerance", -1], ["--iterations", 0], ["--threads", 0],
                       ["--format", "papyrus"], ["--value", "f16"]):
            self.bad("solve", matrix, *option, expect=["tulle solve --help"])

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        os.symlink("/dev/full", self.path("x.mtx.part"))
        self.bad("solve", "gen:poisson2d5:40", "-o", self.path("x.mtx"), expect=["x.mtx"])
        self.assertFalse(os.path.exists(self.path("x.mtx")))


class Devices(CommandLine):
    def test_devices(self):
        found = self.good_json("devices")
        for key in ("processor", "cores", "usable_cores", "threads", "caches", "memory",
                    "huge_pages", "instruction_sets", "backends", "formats", "types"):
            self.assertIn(key, found)
        self.assertEqual(sum(s["active"] for s in found["instruction_sets"]), 1)
        self.assertEqual([b["name"] for b in found["backends"]],
                         ["reference", "cpu", "cuda", "opencl"])
        self.assertIn("instruction sets", self.good("devices"))

    def test_environment(self):
        found = self.good_json("devices",
                               environment={"TULLE_ISA": "baseline", "TULLE_THREADS": "3"})
        self.assertEqual(found["threads"], 3)
        self.assertTrue(found["instruction_sets"][0]["active"])


class Bench(CommandLine):
    OPERATIONS = ["spmv", "spmm", "spgemm", "convert", "transpose", "add", "assemble", "level1", "read"]

    def setUp(self):
        super().setUp()
        self.records = self.path("bench.json")

    def bench(self, *more):
        return self.good("bench", "spmv", "gen:lattice:2000", "--quick", "--threads", 2, *more)

    def results(self):
        with open(self.records) as file:
            run, *records = map(json.loads, file)
        return run, records

    def test_records_say_what_ran(self):
        text = self.bench("--json", self.records)
        self.assertIn("tulle csr", text)
        self.assertIn("Fastest:", text)
        run, records = self.results()
        self.assertTrue(run["run"])
        self.assertTrue(run["pinned"])
        self.assertEqual(sorted(r["format"] for r in records if not r["peer"]),
                         ["coo", "csc", "csr"])
        for r in records:
            self.assertTrue(r["verified"])
            self.assertEqual((r["rows"], r["nnz"]), (2000, 8000))
            self.assertGreater(r["csr_bound_ratio"], 0)
            self.assertGreaterEqual(r["turns"], 9)

    def test_every_operation_gives_records(self):
        self.assertTrue(all(op in self.good("bench", "--help") for op in self.OPERATIONS))
        for op, matrix, formats in (("convert", "gen:lattice:2000", {"coo", "csc"}),
                                    ("transpose", "gen:lattice:2000", {"csr", "csr planned"}),
                                    ("add", "gen:lattice:2000", {"csr", "csr planned"}),
                                    ("assemble", "gen:lattice:2000", {"csr", "csr 1 thread"}),
                                    ("level1", "vector:10000:0.1", {"vector"})):
            self.good("bench", op, matrix, "--quick", "--threads", 2, "--json", self.records)
            records = self.results()[1]
            self.assertEqual({r["format"] for r in records if not r["peer"]}, formats)
            for r in records:
                self.assertEqual(r["op"], op)
                self.assertTrue(r["verified"], r)
                self.assertGreater(r["csr_bound_ratio"], 0)

    def test_operations_have_options_and_errors_of_their_own(self):
        text = self.good("bench", "add", "gen:lattice:500", "--with", "transpose", "--quick",
                         "--peers", "none")
        self.assertIn("gen:lattice:500 + transpose", text)
        self.bad("bench", "add", "gen:lattice:500", "--with", "nothing", expect=["nothing"])
        self.bad("bench", "level1", "gen:lattice:500", expect=["vector:LENGTH:DENSITY"])

    def test_report_is_a_page(self):
        self.bench("--json", self.records)
        page = self.path("page.html")
        self.good("bench", "report", self.records, "-o", page)
        with open(page) as file:
            text = file.read()
        self.assertTrue(text.startswith("<!DOCTYPE html>"))
        self.assertEqual(text.count("data-bar="), len(self.results()[1]))

    def test_a_run_compared_with_itself_is_the_same(self):
        self.bench("--json", self.records)
        self.assertIn(" 0 slower, 0 faster", self.good("bench", "compare", self.records, self.records))

    def test_what_got_slower_is_exit_status_one(self):
        self.bench("--json", self.records, "--peers", "none")
        run, records = self.results()
        fast, slow = self.path("fast.json"), self.path("slow.json")
        for name, ratio in ((fast, 1), (slow, .5)):
            with open(name, "w") as file:
                print(json.dumps(run), file=file)
                for r in records:
                    r["csr_bound_ratio"] = r["ratio_low"] = r["ratio_high"] = ratio
                    print(json.dumps(r), file=file)
        said = self.bad("bench", "compare", fast, slow, expect=["3 of 3 rows got slower"])
        self.assertEqual(said.count("tulle c"), 3)
        self.good("bench", "compare", slow, fast)

    def test_suites(self):
        self.bad("bench", "spmv", "--suite", "real", expect=["--folder"])
        self.bad("bench", "spmv", "--suite", "real", "--folder", self.path("nowhere"), expect=["nowhere"])
        self.bad("bench", "spmv", "gen:lattice:2000", "--peers", "nobody", expect=["nobody"])


class Terminal(CommandLine):
    def test_progress_shows_and_leaves(self):
        try:
            ours, theirs = pty.openpty()
        except OSError as e:
            self.skipTest(f"no terminal to be had here: {e}")
        done = subprocess.run([TULLE, "info", "gen:rmat:10:4"], stdout=subprocess.PIPE,
                              stderr=theirs)
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not more:
                break
            shown += more
        os.close(ours)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"generating gen:rmat:10:4", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: test_cli.py TULLE [unittest options]")
    TULLE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
