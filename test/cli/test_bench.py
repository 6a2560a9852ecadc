# SPDX-License-Identifier: Apache-2.0
"""bench: records, reports, comparisons."""

import json
import os
import resource
import xml.etree.ElementTree

from command_line import CommandLine, FORMATS, main


class Bench(CommandLine):
    OPERATIONS = ["spmv", "spmm", "sddmm", "spmspv", "spgemm", "convert", "transpose", "add", "multiply_elements", "kron",
                  "assemble", "level1", "primitive", "read", "trsv", "trsm"]

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
        text = self.bench(f"--json={self.records}")
        self.assertIn("tulle csr", text)
        self.assertRegex(text, "Fastest:|is as fast as")
        run, records = self.results()
        self.assertTrue(run["run"])
        self.assertTrue(run["pinned"])
        self.assertEqual(sorted(r["format"] for r in records if not r["peer"]),
                         sorted(FORMATS))
        for r in records:
            self.assertTrue(r["verified"])
            self.assertEqual((r["rows"], r["nnz"]), (2000, 8000))
            self.assertGreater(r["csr_bound_ratio"], 0)
            self.assertGreaterEqual(r["turns"], 9)

    def test_a_device_that_is_missing_is_named(self):
        nowhere = {f"TULLE_{name}_MODULE": self.path("nowhere.so") for name in ("CUDA", "OPENCL")}
        for backend in ("cuda", "opencl"):
            for operation in ("spmv", "spmm", "spgemm", "convert", "dynamic"):
                said = self.bad("bench", operation, "gen:lattice:2000", "--quick", "--backend", backend, "--peers", "none",
                                environment=nowhere, expect=[f"nobody computes this on {backend}"])
                self.assertRegex(said, f"Note: no {backend} device: .*nowhere.so")

    def test_memory_is_kept_to(self):
        text = self.bench("--formats", "csr,coo,csc,sell", "--peers", "none", "--memory", "300K", f"--json={self.records}")
        self.assertRegex(text, "Note: gen:lattice:2000: measured in [2-4] groups")
        self.assertEqual(sorted(r["format"] for r in self.results()[1]), ["coo", "csc", "csr", "sell"])
        text = self.bench("--formats", "csr,coo", "--peers", "none", "--memory", "100K", f"--json={self.records}")
        self.assertIn("tulle coo is left out: it may need", text)
        run, records = self.results()
        self.assertEqual([r["format"] for r in records], ["csr"])
        self.assertTrue(any("tulle coo is left out" in r for r in run["remarks"]))
        self.bad("bench", "spmv", "gen:lattice:2000", "--memory", "much", expect=["--memory"])

    def test_a_limit_of_memory_leaves_results(self):
        """All formats of a matrix of 12 MB in an address space of 350 MB: before, one line and no results."""
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (350 << 20, 350 << 20))
        text = self.good("bench", "spmv", "gen:rmat:16:16", "--quick", "--threads", 1, "--peers", "none",
                         f"--json={self.records}", limit=limit)
        self.assertRegex(text, "measured in [0-9]+ groups|is left out: ")
        there = {r["format"] for r in self.results()[1]}
        self.assertTrue({"csr", "coo", "csc"} <= there, there)
        for f in set(FORMATS) - there:
            self.assertRegex(text, f"tulle {f}[a-z0-9:=]* is left out|: {f}: ")

    def test_methods_stand_beside_the_default(self):
        self.bench("--formats", "csr,coo", "--method", "all", "--peers", "none", f"--json={self.records}")
        _, records = self.results()
        self.assertEqual(sorted(r["format"] for r in records),
                         ["coo", "csr", "csr merge", "csr rows", "csr segments"])
        self.assertTrue(all(r["verified"] and r["format"].split()[-1] in r["path"] for r in records))
        self.bad("bench", "spmv", "gen:lattice:2000", "--method", "guess", expect=["--method", "guess"])

    def test_every_operation_gives_records(self):
        self.assertTrue(all(op in self.good("bench", "--help") for op in self.OPERATIONS))
        converted = {f + what for f in {*FORMATS} - {"csr"} for what in ("", " refill")}
        for op, matrix, formats in (("convert", "gen:lattice:2000", converted),
                                    ("transpose", "gen:lattice:2000", {"csr", "csr planned"}),
                                    ("add", "gen:lattice:2000", {"csr", "csr planned"}),
                                    ("trsv", "gen:lattice:2000", {"csr"}),
                                    ("trsm", "gen:lattice:2000", {"csr"}),
                                    ("assemble", "gen:lattice:2000", {"csr", "csr 1 thread"}),
                                    ("level1", "vector:10000:0.1", {"vector"}),
                                    ("primitive", "lists:100:20", {"simd", "plain"})):
            self.good("bench", op, matrix, "--quick", "--threads", 2, f"--json={self.records}")
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
        self.bad("bench", "primitive", "gen:lattice:500", expect=["lists:NUMBER:LENGTH"])

    def test_report_is_a_page(self):
        self.bench(f"--json={self.records}")
        page = self.path("page.html")
        self.good("bench", "report", self.records, "-o", page)
        with open(page) as file:
            text = file.read()
        self.assertTrue(text.startswith("<!DOCTYPE html>"))
        self.assertEqual(text.count("data-bar="), len(self.results()[1]))

    def test_a_run_compared_with_itself_is_the_same(self):
        self.bench(f"--json={self.records}")
        self.assertIn(" 0 slower, 0 faster", self.good("bench", "compare", self.records, self.records))

    def test_what_got_slower_is_exit_status_one(self):
        self.bench(f"--json={self.records}", "--peers", "none")
        run, records = self.results()
        fast, slow = self.path("fast.json"), self.path("slow.json")
        for name, ratio in ((fast, 1), (slow, .5)):
            with open(name, "w") as file:
                print(json.dumps(run), file=file)
                for r in records:
                    r["csr_bound_ratio"] = r["ratio_low"] = r["ratio_high"] = ratio
                    print(json.dumps(r), file=file)
        said = self.bad("bench", "compare", fast, slow, expect=["rows got slower"])
        self.assertEqual(said.count("tulle "), len(FORMATS))
        self.good("bench", "compare", slow, fast)

    def test_plot_is_an_svg_file(self):
        self.bench("--formats", "csr,sell,optimize", f"--json={self.records}")
        pages = {}
        for theme in ("light", "dark"):
            plot = self.path(theme + ".svg")
            said = self.good("bench", "report", self.records, "-o", plot, "--theme", theme, "--title", "a < b & c")
            self.assertIn("records", said)
            root = xml.etree.ElementTree.parse(plot).getroot()
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            self.assertEqual(root.get("aria-label"), "a < b & c")
            texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
            self.assertIn("gen:lattice:2000", texts)
            self.assertTrue(any(t.startswith("optimize(): ") for t in texts), texts)
            with open(plot) as file:
                pages[theme] = file.read()
        self.assertNotEqual(pages["light"], pages["dark"])
        self.bad("bench", "report", self.records, "-o", self.path("a.svg"), "--theme", "pink", expect=["pink"])
        self.bench("--formats", "csr", "--peers", "none", f"--json={self.records}")
        self.bad("bench", "report", self.records, "-o", self.path("none.svg"), expect=["both tulle and a peer"])
        self.assertFalse(os.path.exists(self.path("none.svg")))

    def test_optimize_says_what_it_picked(self):
        self.bench("--formats", "optimize,csr", "--peers", "none", f"--json={self.records}")
        by_format = {r["format"]: r for r in self.results()[1]}
        self.assertEqual(sorted(by_format), ["csr", "optimize"])
        self.assertEqual(by_format["csr"]["why"], "")
        picked = by_format["optimize"]["why"].split(":")[0]
        self.assertIn(picked, FORMATS)
        self.assertIn(f" {picked} ", by_format["optimize"]["path"])

    def test_suites(self):
        nowhere = {"TULLE_MATRICES": ""}
        self.bad("bench", "spmv", "--suite", "real", environment=nowhere, expect=["--folder", "TULLE_MATRICES"])
        self.bad("bench", "spmv", "--suite", "real", "--folder", self.path("nowhere"), expect=["nowhere"])
        self.bad("bench", "spmv", "gen:lattice:2000", "--peers", "nobody", expect=["nobody"])
        folder = self.path("folder")
        os.makedirs(folder)
        for name, field, value in (("one", "real", "2"), ("two", "complex", "2 1"), ("three", "pattern", "")):
            with open(os.path.join(folder, name + ".mtx"), "w") as file:
                print(f"%%MatrixMarket matrix coordinate {field} general\n2 3 1\n2 3 {value}", file=file)
        said = self.good("bench", "spmv", "--suite", "folder", "--folder", folder, "--quick", "--formats", "csr",
                         "--peers", "none", f"--json={self.records}")
        self.assertIn("two.mtx is left out: its values are complex", said)
        self.assertEqual([os.path.basename(r["matrix"]) for r in self.results()[1]], ["one.mtx", "three.mtx"])
        self.bad("bench", "spmv", "--suite", "real", "--folder", folder, expect=["none of the", "--suite folder"])

    def test_the_suite_of_real_matrices_ends_with_a_summary(self):
        folder = self.path("folder")
        os.makedirs(folder)
        self.good("gen", "lattice:2000", "-o", os.path.join(folder, "xenon1.mtx"))
        self.good("gen", "poisson2d5:30", "-o", os.path.join(folder, "memplus.mtx.gz"))
        said = self.good("bench", "spmv", "--suite", "real", "--quick", "--formats", "csr,optimize", "--threads", 2,
                         environment={"TULLE_MATRICES": folder})
        self.assertIn("times as fast as the best peer", said)
        self.assertRegex(said, r"csr as given +[0-9.]+ .* of 2\n")
        self.assertRegex(said, r"\n  xenon1 +8,000 +[0-9.]+ +[0-9.]+ +[0-9.]+ ")
        self.assertRegex(said, r"\n  memplus +4,380 ")
        self.assertIn("matrices of the suite are not in", said)


if __name__ == "__main__":
    main()
