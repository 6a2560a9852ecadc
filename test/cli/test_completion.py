# SPDX-License-Identifier: Apache-2.0
"""completion: scripts that the shells accept, and what bash completes by its own."""

import os
import shutil
import subprocess

from command_line import CommandLine, COMMANDS, FORMATS, main

# What readline would ask for: the words of the line, taken apart at : and = as readline does.
ASK = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
_tulle
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion(CommandLine):
    def setUp(self):
        super().setUp()
        self.script = self.write("tulle.bash", self.good("completion", "bash"))

    def ask(self, *words):
        done = subprocess.run(["bash", "-c", ASK, "bash", self.script, "tulle", *words], cwd=self.folder,
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""), words)
        return done.stdout.decode().split()

    def test_shells_accept_their_scripts(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.write(shell, self.good("completion", shell))
            if shutil.which(shell):
                done = subprocess.run([shell, "-n", script], capture_output=True)
                self.assertEqual((done.returncode, done.stderr), (0, b""), shell)
            for command in COMMANDS:
                self.assertIn(f"tulle {command}", self.read(shell))
        self.bad("completion", "tcsh", expect=["bash", "zsh", "fish"])
        self.bad("completion", expect=["SHELL"])

    def test_commands(self):
        self.assertEqual(sorted(self.ask("")), sorted(COMMANDS))
        self.assertEqual(self.ask("s"), ["show", "spy", "solve"])
        self.assertIn("spmm", self.ask("bench", "sp"))
        self.assertEqual(self.ask("completion", ""), ["bash", "zsh", "fish"])

    def test_options_are_those_of_the_help(self):
        for command in ("info", "solve", "show", "bench spmv"):
            found = self.ask(*command.split(), "--")
            text = self.good(*command.split(), "--help")
            self.assertGreater(len(found), 2)
            for option in found:
                self.assertIn(option, text)
        self.assertEqual(self.ask("solve", "--fo"), ["--format"])
        self.assertEqual(self.ask("solve", "gen", ":", "dense", ":", "3", "--js"), ["--json"])

    def test_choices(self):
        self.assertEqual(self.ask("solve", "--value", "f"), ["f32", "f64"])
        self.assertEqual(self.ask("solve", "--value", "=", "c"), ["c32", "c64"])
        self.assertEqual(self.ask("bench", "spmv", "--suite", "r"), ["real"])
        self.assertEqual(self.ask("solve", "--threads", ""), [])

    def test_formats(self):
        self.assertEqual(sorted(self.ask("show", "a.mtx", "--format", "")), sorted(FORMATS))
        self.assertEqual(self.ask("show", "--format", "csr5", ":"), ["omega=", "sigma="])
        self.assertEqual(self.ask("show", "--format", "=", "csr5", ":", "si"), ["sigma="])
        self.assertEqual(self.ask("bench", "spmv", "--formats", "csr,cs"),
                         ["csr," + f for f in ("csr", "csc", "csr5", "csr_adaptive")])

    def test_generators(self):
        names = [g["name"] for g in self.good_json("gen", "--list")["generators"]]
        self.assertEqual(self.ask("info", "gen", ":"), [name + ":" for name in names])
        self.assertEqual(self.ask("solve", "gen", ":", "rm"), ["rmat:"])
        self.assertEqual(self.ask("gen", "rm"), ["rmat:"])
        self.assertEqual(self.ask("info", "ge"), ["gen:"])
        self.assertEqual(self.ask("info", "gen", ":", "like", ":", "webb"), ["webbase-1M"])

    def test_files(self):
        self.write("matrix.mtx", "")
        os.makedirs(self.path("matrices"))
        self.assertEqual(sorted(self.ask("info", "mat")), ["matrices", "matrix.mtx"])
        self.assertEqual(sorted(self.ask("convert", "a", "mat")), ["matrices", "matrix.mtx"])
        self.assertEqual(sorted(self.ask("gen", "dense:2", "-o", "mat")), ["matrices", "matrix.mtx"])
        self.assertEqual(sorted(self.ask("info", "a", "--json", "=", "mat")), ["matrices", "matrix.mtx"])
        self.assertEqual(self.ask("bench", "spmv", "--folder", "mat"), ["matrices"])


if __name__ == "__main__":
    main()
