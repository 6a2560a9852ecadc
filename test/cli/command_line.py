# SPDX-License-Identifier: Apache-2.0
"""The command line from outside: what it prints, what it writes, how it fails. What the tests of this folder share."""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TULLE = "tulle"  # the program to test

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

with open(os.path.join(os.path.dirname(__file__), "../../include/tulle/format/formats.def")) as listed:
    FORMATS = re.findall(r"^TULLE_FORMAT\((\w+), (?!internal)", listed.read(), re.M)

COMMANDS = ["demo", "info", "gen", "convert", "show", "spy", "recommend", "verify", "solve", "devices", "completion", "bench"]


def run(*arguments, environment=None, limit=None, stdin=None):
    return subprocess.run([TULLE, *map(str, arguments)], capture_output=True, timeout=300, preexec_fn=limit, input=stdin,
                          env={**os.environ, **(environment or {})})


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


def main():
    """What a file of tests ends with: python3 test_bench.py TULLE [unittest options]."""
    global TULLE
    if len(sys.argv) < 2:
        sys.exit(f"usage: {os.path.basename(sys.argv[0])} TULLE [unittest options]")
    TULLE = os.path.abspath(sys.argv.pop(1))
    unittest.main()
