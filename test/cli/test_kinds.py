# SPDX-License-Identifier: Apache-2.0
"""Files of other kinds than Matrix Market, by every command that takes a matrix."""

import gzip
import io
import struct
import zipfile

from command_line import CommandLine, main

EDGES = "# a path\n0 1\n1 0\n1 2\n2 1\n"
METIS = "3 2\n2\n1 3\n2\n"
HARWELL_BOEING = ("A title\n             3             1             1             1\n"
                  "rsa                        2             2             3             0\n"
                  "(3i4)           (3i4)           (1p,3d12.4)\n"
                  "   1   3   4\n   1   2   2\n  4.0000D+00 -1.0000D+00  4.0000D+00\n")


def npy(descr, shape, data):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data


def npz():
    """csr, 2 x 2, as numpy.savez_compressed writes it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("indices", npy("<i4", "(2,)", struct.pack("<2i", 0, 1))),
                              ("indptr", npy("<i4", "(3,)", struct.pack("<3i", 0, 1, 2))),
                              ("format", npy("|S3", "()", b"csr")),
                              ("shape", npy("<i8", "(2,)", struct.pack("<2q", 2, 2))),
                              ("data", npy("<f8", "(2,)", struct.pack("<2d", 3, 5)))):
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                member.write(content)
    return file.getvalue()


def petsc(scalars):
    """2 x 2, diagonal."""
    return struct.pack(f">8i{len(scalars)}d", 1211216, 2, 2, 2, 1, 1, 0, 1, *scalars)


class Kinds(CommandLine):
    def write_bytes(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def test_info_tells_the_kind(self):
        for path, kind, nnz in ((self.write("g.txt", EDGES), "edges", 4),
                                (self.write("g.graph", METIS), "metis", 4),
                                (self.write("a.rsa", HARWELL_BOEING), "hb", 4),
                                (self.write_bytes("a.npz", npz()), "npz", 2),
                                (self.write_bytes("a.bin", petsc([3, 5])), "petsc", 2)):
            found = self.good_json("info", path)
            self.assertEqual((found["file"]["kind"], found["nnz"]), (kind, nnz))
            self.assertIn(f"  file         {kind}: ", self.good("info", path))

    def test_text_may_be_gzip(self):
        for name, text, kind in (("g.txt.gz", EDGES, "edges"), ("g.graph.gz", METIS, "metis"),
                                 ("a", HARWELL_BOEING, "hb")):
            path = self.write_bytes(name, gzip.compress(text.encode()))
            self.assertEqual(self.good_json("info", path)["file"]["kind"], kind)

    def test_edge_lists_say_what_ids_start_at(self):
        path = self.write("g.txt", "1 2\n2 3\n")
        self.assertIn("ids from 1", self.good("info", path))
        self.assertEqual(self.good_json("info", path)["rows"], 3)
        self.assertIn("ids from 0", self.good("info", "edges0:" + path))
        self.assertEqual(self.good_json("info", "edges0:" + path)["rows"], 4)
        zero = self.write("z.txt", EDGES)
        self.assertIn("ids from 0", self.good("info", zero))
        self.bad("info", "edges1:" + zero, expect=["z.txt:2", "id 0"])

    def test_a_word_before_the_path_says_the_kind(self):
        path = self.write("g", "3 2\n1 2\n3 1\n")
        self.assertEqual(self.good_json("info", path)["file"]["kind"], "edges")
        self.bad("info", "metis:" + path, expect=["g:2", "own neighbour"])
        self.bad("info", "npz:" + path, expect=["g", "zip"])
        self.bad("info", "mtx:" + path, expect=["g:1", "%%MatrixMarket"])

    def test_every_command_reads_them(self):
        path = self.write("a.rsa", HARWELL_BOEING)
        self.good("spy", path, "-o", self.path("a.png"))
        self.good("recommend", path)
        self.good("solve", path)
        self.good("verify", self.write("g.txt", EDGES))
        self.good("convert", path, self.path("a.mtx"))
        self.assertIn("coordinate real symmetric", self.read("a.mtx"))
        self.assertIn("% A title", self.read("a.mtx"))

    def test_complex_values_are_verified_as_such(self):
        path = self.write_bytes("a.petsc", petsc([3, 1, 5, 0]))
        self.assertEqual(self.good_json("info", path)["type"], "c64_i32")
        self.good("verify", path)

    def test_other_files_are_refused(self):
        self.bad("info", self.write("a.pdf", "%PDF-1.5\n"), expect=["a.pdf:1", "%%MatrixMarket", "npz"])
        self.bad("info", self.write("empty", ""), expect=["empty", "is empty"])


if __name__ == "__main__":
    main()
