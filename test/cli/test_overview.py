# SPDX-License-Identifier: Apache-2.0
"""What it says of itself, how it fails, what it shows on a terminal."""

import command_line
import os
import pty
import subprocess

from command_line import CommandLine, COMMANDS, main, SMALL


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
            if command != "completion":
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
            done = subprocess.run([command_line.TULLE, "devices"], stdout=full, stderr=subprocess.PIPE)
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


class Terminal(CommandLine):
    def test_progress_shows_and_leaves(self):
        try:
            ours, theirs = pty.openpty()
        except OSError as e:
            self.skipTest(f"no terminal to be had here: {e}")
        done = subprocess.run([command_line.TULLE, "info", "gen:rmat:10:4"],
                              stdout=subprocess.PIPE, stderr=theirs)
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
    main()
