# SPDX-License-Identifier: Apache-2.0
"""spy: the picture of a matrix, read back as a PNG."""

import struct
import zlib

from command_line import CommandLine, FORMATS, main, SMALL


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

    def colours(self, matrix, layout):
        """The colour of each cell; a picture of its places in the layout."""
        told, rows = self.picture(matrix, "--size", "200", "--format", layout)
        high, wide = told["cell"]
        return told, {(i, j): rows[told["top"] + i * high + high // 2][told["left"] + j * wide + wide // 2]
                      for i in range(told["rows"]) for j in range(told["cols"])}

    def test_colours_tell_the_order_in_a_layout(self):
        by_row, csr = self.colours("gen:dense:4", "csr")
        _, csc = self.colours("gen:dense:4", "csc")
        self.assertEqual(by_row["slots"], 16)
        self.assertEqual(len(set(csr.values())), 16)
        for i in range(4):
            for j in range(4):
                self.assertEqual(csr[i, j], csc[j, i])
        self.assertNotEqual(csr[0, 3], csr[3, 0])
        first, last = csr[0, 0], csr[3, 3]
        self.assertGreater(first[2], first[0])  # blue
        self.assertGreater(last[0], last[2])  # red

    def test_places_of_every_format(self):
        for f in FORMATS:
            told, cells = self.colours("gen:poisson2d5:3", f)
            self.assertEqual(sum(c != (255, 255, 255) for c in cells.values()), 33, f)
            self.assertGreaterEqual(told["slots"], 21 if f == "scsr" else 33, f)
            if f == "scsr":
                self.assertTrue(all(cells[i, j] == cells[j, i] for i, j in cells))

    def test_places_need_a_pixel_each(self):
        self.bad("spy", "gen:dense:40", "-o", self.path("a.png"), "--size", "20", "--format", "csr", expect=["--size"])
        self.bad("spy", "gen:lattice:8", "-o", self.path("a.png"), "--format", "nothing", expect=["nothing"])
        self.bad("spy", "gen:rmat:5:4", "-o", self.path("a.png"), "--format", "scsr", expect=["symmetric"])


if __name__ == "__main__":
    main()
