# SPDX-License-Identifier: Apache-2.0
"""Options that are the same in every command: --json, --threads, --value, -o; and what convert writes."""

import json
import os

from command_line import CommandLine, COMMANDS, main, SMALL

# A call of each command that takes --json and prints text without it.
CALLS = {
    "info": ["gen:poisson2d5:9"],
    "gen": ["--list"],
    "convert": ["gen:poisson2d5:9", "OUT.mtx"],
    "show": ["gen:poisson2d5:3"],
    "spy": ["gen:poisson2d5:9", "-o", "OUT.png"],
    "recommend": ["gen:poisson2d5:9"],
    "verify": ["gen:dense:3"],
    "solve": ["gen:poisson2d5:9"],
    "devices": [],
    "demo": ["gen:lattice:500"],
}
BENCH = ["bench", "spmv", "gen:lattice:500", "--quick", "--formats", "csr", "--peers", "none"]


class Json(CommandLine):
    def call(self, command):
        return [command, *(a.replace("OUT", self.path("out")) for a in CALLS[command])]

    def test_every_command_is_here(self):
        self.assertEqual(set(CALLS) | {"bench", "completion"}, set(COMMANDS))

    def test_without_a_file_it_is_all_of_standard_output(self):
        for command in CALLS:
            for option in ("--json", "--json=-"):
                json.loads(self.good(*self.call(command), option))

    def test_with_a_file_the_text_stays(self):
        for command in CALLS:
            with self.subTest(command):
                file = self.path(command + ".json")
                text = self.good(*self.call(command), f"--json={file}")
                with open(file) as written:
                    json.load(written)
                self.assertNotEqual(text, "")
                self.assertRaises(json.JSONDecodeError, json.loads, text)

    def test_no_command_takes_the_next_word_for_its_file(self):
        self.assertEqual(self.good_json("info", "--json", "gen:dense:3")["rows"], 3)
        lines = self.good(*BENCH[:2], "--json", *BENCH[2:]).splitlines()
        self.assertEqual(json.loads(lines[1])["matrix"], "gen:lattice:500")
        self.bad(*BENCH, "--json", self.path("out.json"), expect=["not a matrix", "--json="])

    def test_bench_prints_a_record_a_line(self):
        first, *records = map(json.loads, self.good(*BENCH, "--json").splitlines())
        self.assertTrue(first["run"])
        self.assertEqual([r["format"] for r in records], ["csr"])
        file = self.path("bench.json")
        self.assertIn("tulle csr", self.good(*BENCH, f"--json={file}"))
        self.assertEqual(len(self.read("bench.json").splitlines()), 2)
        page = self.path("page.html")
        self.assertEqual(self.good_json("bench", "report", file, "-o", page), {"output": page, "records": 1})
        compared = self.good_json("bench", "compare", file, file)
        self.assertEqual([row["factor"] for row in compared["rows"]], [1])

    def test_result_and_json_do_not_share_standard_output(self):
        for call in (["gen", "dense:2"], ["gen", "dense:2", "-o", "-"], ["spy", "gen:dense:2", "-o", "-"],
                     ["convert", "gen:dense:2", "-"]):
            self.bad(*call, "--json", expect=["--json", "standard output"])
        file = self.path("made.json")
        self.assertIn("%%MatrixMarket", self.good("gen", "dense:2", f"--json={file}"))
        with open(file) as written:
            self.assertEqual(json.load(written)["rows"], 2)

    def test_a_file_that_cannot_be_written(self):
        there = os.path.join(self.folder, "no", "out.json")
        for call in (["devices"], BENCH):
            self.bad(*call, f"--json={there}", expect=[there, "cannot be written"])

    def test_errors_are_one_line_on_stderr(self):
        for command in ("info", "show", "recommend", "solve"):
            self.assertEqual(self.bad(command, self.path("none.mtx"), "--json", expect=["none.mtx"]), "")


class Threads(CommandLine):
    COMMANDS = ["info", "gen", "convert", "show", "spy", "recommend", "solve"]

    def call(self, command):
        if command == "bench":
            return BENCH
        return [command, *(a.replace("OUT", self.path("out")) for a in CALLS[command])]

    def test_what_is_no_number_of_threads(self):
        for command in [*self.COMMANDS, "bench"]:
            for wrong in ("99999999", "-1", "abc", "1025", "1.5", "", "4294967297"):
                self.bad(*self.call(command), "--threads", wrong,
                         expect=["--threads", "0", "1024", f"'{wrong}'", f"tulle {command}", "--help"])

    def test_what_is(self):
        for command in self.COMMANDS:
            for good in ("0", "1", "3"):
                self.good(*self.call(command), "--threads", good)
        path = self.good_json("solve", "gen:poisson2d5:200", "--threads", 3)["path"]
        self.assertIn("3 threads", path)
        self.assertEqual(json.loads(self.good(*BENCH, "--threads", 1, "--json").splitlines()[0])["threads"], 1)

    def test_the_option_goes_before_the_environment(self):
        def path(*more):
            return self.good_json("solve", "gen:poisson2d5:200", *more, environment={"TULLE_THREADS": "3"})["path"]
        self.assertIn("3 threads", path())
        self.assertIn("3 threads", path("--threads", 0))
        self.assertIn("2 threads", path("--threads", 2))

    def test_a_sweep_has_the_same_bounds(self):
        for wrong in ("0", "1025", "abc", "-1"):
            self.bad(*BENCH, "--sweep", f"threads=1,{wrong}", expect=["--sweep", "1024", f"'{wrong}'"])

    def test_a_bad_environment_is_an_error_of_every_command(self):
        for command in CALLS:
            for wrong in ("abc", "-1", "99999999"):
                self.bad(*self.call(command), environment={"TULLE_THREADS": wrong},
                         expect=["TULLE_THREADS", wrong])
        self.bad(*BENCH, environment={"TULLE_THREADS": "abc"}, expect=["TULLE_THREADS", "abc"])


class Written(CommandLine):
    def test_formats_of_memory_are_no_files(self):
        for name in ("out.csr5", "out.csr", "out.csr5.gz"):
            for call in (["convert", "gen:dense:2"], ["gen", "dense:2", "-o"],
                         ["solve", "gen:poisson2d5:3", "-o"]):
                self.bad(*call, self.path(name), expect=["Matrix Market", ".mtx", "tulle show", "--format csr"])
                self.assertFalse(os.path.exists(self.path(name)))

    def test_unknown_extensions_name_the_known_ones(self):
        for name in ("out.txt", "out.npz.gz", "out.mtx.bz2"):
            self.bad("convert", "gen:dense:2", self.path(name), expect=[name, ".mtx", ".mtx.gz"])

    def test_names_without_one_are_matrix_market(self):
        self.good("convert", self.write("small.mtx", SMALL), self.path("out"))
        self.assertTrue(self.read("out").startswith("%%MatrixMarket"))


class Help(CommandLine):
    def test_options_are_spelled_alike(self):
        """The same line of help wherever an option of several commands stands."""
        lines = {}
        for command in [*CALLS, "bench spmv"]:
            text = self.good(*command.split(), "--help")
            for line in text.splitlines():
                for option in ("--threads", "--value", "--output"):
                    if line.strip().startswith(option) or f",{option}" in line:
                        lines.setdefault(option, {}).setdefault(line.split()[1], []).append(command)
                if "--json" in line and line.startswith("  --"):
                    self.assertIn("--json[=FILE]", line)
                    self.assertIn("Print JSON", line)
        self.assertEqual(list(lines["--threads"]), ["N"])
        self.assertEqual(list(lines["--output"]), ["FILE"])
        for words in lines["--value"]:
            self.assertTrue(words.startswith("{f32,f64"), words)

    def test_types_are_words_of_the_subject(self):
        for command in COMMANDS:
            self.assertNotRegex(self.good(command, "--help"), r"\b(TEXT|UINT|INT|FLOAT)\b")


if __name__ == "__main__":
    main()
