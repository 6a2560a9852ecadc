# SPDX-License-Identifier: Apache-2.0
"""Standard input and output, pipes and named pipes, plain and gzip."""

import command_line
import gzip
import os
import subprocess
import threading

from command_line import CommandLine, main, run, SMALL, SYMMETRIC

SPD = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n"


class Streams(CommandLine):
    def raw(self, *arguments, stdin=None):
        """Standard output, as bytes, of a call that succeeds."""
        done = run(*arguments, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout

    def fifo(self, content):
        """A named pipe that gives this once."""
        path = self.path("pipe")
        if not os.path.exists(path):
            os.mkfifo(path)

        def write():
            with open(path, "wb") as file:
                file.write(content)
        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        self.addCleanup(writer.join, 10)
        return path

    def test_every_command_reads_standard_input_and_pipes(self):
        commands = (["info"], ["convert", self.path("out.mtx")], ["spy", "-o", self.path("a.png")], ["recommend"],
                    ["verify"], ["verify", "--isa", "all"], ["solve"],
                    ["bench", "spmv", "--quick", "--formats", "csr", "--peers", "none"],
                    ["bench", "read", "--quick", "--formats", "csr", "--peers", "none"])
        for packed in (SPD.encode(), gzip.compress(SPD.encode())):
            for command in commands:
                split = 2 if command[0] == "bench" else 1
                for matrix, stdin in (("-", packed), (self.fifo(packed), None)):
                    self.raw(*command[:split], matrix, *command[split:], stdin=stdin)

    def test_standard_input_may_be_a_file(self):
        path = self.write("small.mtx", SMALL)
        for command in (["info", "-"], ["verify", "-", "--isa", "all"]):
            with open(path, "rb") as file:
                done = subprocess.run([command_line.TULLE, *command], stdin=file, capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_what_is_read_is_the_same(self):
        path = self.write("small.mtx", SMALL)
        told = [self.good_json("info", path), self.good_json("info", "-", stdin=SMALL.encode()),
                self.good_json("info", self.fifo(SMALL.encode()))]
        self.assertEqual([t.pop("matrix") for t in told], ["small.mtx", "stdin", "pipe"])
        for t in told:
            t.pop("read_seconds")
        self.assertEqual(told[0], told[1])
        self.assertEqual(told[0], told[2])

    def test_large_input_comes_through_a_pipe(self):
        text = self.raw("gen", "poisson2d5:500")
        self.assertGreater(len(text), 8 << 20)
        for stdin in (text, gzip.compress(text, 1)):
            self.assertEqual(self.raw("convert", "-", "-", stdin=stdin), text)

    def test_matrices_are_written_to_standard_output(self):
        plain = self.raw("gen", "poisson2d5:4")
        self.assertTrue(plain.startswith(b"%%MatrixMarket"))
        self.assertEqual(self.raw("gen", "poisson2d5:4", "-o", "-"), plain)
        self.assertEqual(gzip.decompress(self.raw("gen", "poisson2d5:4", "-o", "-", "--gzip")), plain)
        self.good("gen", "poisson2d5:4", "-o", self.path("a.mtx"))
        self.assertEqual(self.raw("convert", self.path("a.mtx"), "-"), plain)
        self.assertEqual(gzip.decompress(self.raw("convert", "-", "-", "--gzip", stdin=plain)), plain)
        symmetric = self.raw("convert", "-", "-", stdin=SYMMETRIC.encode())
        self.assertIn(b"integer symmetric", symmetric)

    def test_pictures_and_solutions_are_written_to_standard_output(self):
        self.assertTrue(self.raw("spy", "-", "-o", "-", stdin=SMALL.encode()).startswith(b"\x89PNG"))
        x = self.raw("solve", "-", "-o", "-", stdin=SPD.encode()).decode().splitlines()
        self.assertIn("array real general", x[0])
        self.assertEqual(len(x), 5)
        b = "\n".join(x) + "\n"
        self.good("solve", self.write("a.mtx", SPD), "--rhs", "-", stdin=b.encode())

    def test_pipes_are_written_to(self):
        path = self.path("out")
        os.mkfifo(path)
        got = []

        def read():
            with open(path, "rb") as file:
                got.append(file.read())
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        self.good("gen", "dense:2", "-o", path)
        reader.join(60)
        self.assertEqual(got, [self.raw("gen", "dense:2")])

    def test_json_does_not_mix_with_what_is_written(self):
        for command in (["gen", "dense:2"], ["gen", "dense:2", "-o", "-"], ["convert", "gen:dense:2", "-"],
                        ["spy", "gen:dense:2", "-o", "-"], ["solve", "gen:dense:2", "-o", "-"]):
            self.assertEqual(self.bad(*command, "--json", expect=["standard output"]), "")

    def test_errors_name_the_stream(self):
        self.bad("info", "-", stdin=SMALL.replace("4 2 1e-3", "4 9 1e-3").encode(), expect=["stdin:12", "9"])
        self.bad("info", "-", stdin=b"", expect=["stdin"])
        packed = gzip.compress(SMALL.encode())
        self.bad("info", "-", stdin=packed[:-9], expect=["stdin", "truncated"])
        if os.path.exists("/dev/full"):
            for command in (["gen", "dense:3"], ["convert", "gen:dense:3", "-"], ["spy", "gen:dense:3", "-o", "-"],
                            ["solve", "gen:poisson2d5:3", "-o", "-"]):
                with open("/dev/full", "w") as full:
                    done = subprocess.run([command_line.TULLE, *command], stdout=full, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, 1, command)
                self.assertRegex(done.stderr, b"stdout|standard output|-: cannot")

    def test_a_reader_that_leaves_is_no_error_of_ours(self):
        done = subprocess.run(f"'{command_line.TULLE}' gen poisson2d5:600 | head -n 1", shell=True,
                              capture_output=True)
        self.assertEqual(done.stdout, b"%%MatrixMarket matrix coordinate real general\n")
        self.assertEqual(done.stderr, b"")

    def test_killed_writers_leave_nothing_for_long(self):
        """SIGKILL while a file is written; the next writer of that file cleans up."""
        path = self.path("a.mtx")
        for _ in range(3):
            writer = subprocess.Popen([command_line.TULLE, "gen", "poisson2d5:700", "-o", path])
            while writer.poll() is None and not any(n.endswith(".tmp") for n in os.listdir(self.folder)):
                pass
            writer.kill()
            writer.wait()
        self.good("gen", "dense:2", "-o", path)
        self.assertEqual(os.listdir(self.folder), ["a.mtx"])


if __name__ == "__main__":
    main()
