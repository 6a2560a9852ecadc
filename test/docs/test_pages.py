# SPDX-License-Identifier: Apache-2.0
"""README.md and docs/ say what is so: links lead somewhere, commands run, printed output is what programs print, and numbers
that were measured stand in a dated page of docs/lab with machine, commit and command.

    python3 test_pages.py TULLE EXAMPLES [unittest options]      EXAMPLES: the folder of the built examples
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
TULLE, EXAMPLES = "tulle", "examples"

USE = [ROOT / "README.md", *sorted((DOCS / "use").glob("*.md"))]  # pages for users
ALL = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]

# What the commands of the pages find in their folder.
SETUP = """
tulle gen fem:300 -o cant.mtx.gz
tulle gen lattice:100 -o a.mtx
tulle gen poisson2d5:3 -o small.mtx
printf '# a comment\\n1 2\\n2 3\\n' > edges.txt
printf '# a comment\\n0 1\\n1 2\\n' | gzip > web-Google.txt.gz
printf '3 2\\n2 3\\n1\\n1\\n' > g.txt
"""


def without_code(text):
    """Blocks and spans of code blanked."""
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "``", text)


def anchors(path):
    """The names by which headings are linked, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S)
    names = []
    for title in re.findall(r"^#+ (.*)$", text, re.M):
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        names.append(name if name not in names else f"{name}-{names.count(name)}")
    return names


def blocks(text):
    """(comments right above, block) for each paragraph, list or table."""
    comments = []
    for block in re.split(r"\n\s*\n", without_code(text)):
        found = re.findall(r"<!-- (.*?) -->", block, re.S)
        rest = re.sub(r"<!--.*?-->", "", block, flags=re.S).strip()
        comments += found
        if rest:
            yield comments, rest
            comments = []


# 0.36, 12,667 GB/s, 4 times: not 3.25 in "CMake 3.25", which has no unit and stands in no table.
MEASURED = re.compile(r"\d[\d.,]*\s*(?:ms|µs|us|GB/s|GB|times as|times the|× )|(?<!\d)\d+\.\d+ (?:of the bound|times)")


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for page in ALL:
            for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())) + re.findall(
                    r'(?:src|srcset|href)="([^"]+)"', page.read_text()):
                if re.match(r"[a-z]+:", target):
                    continue
                file, _, anchor = target.partition("#")
                path = (page.parent / file).resolve() if file else page
                with self.subTest(page=page.name, target=target):
                    self.assertTrue(path.exists(), "no such file")
                    if DOCS in page.parents:
                        self.assertTrue(path == DOCS or DOCS in path.parents, "outside of docs/, so not on the site")
                    if anchor:
                        self.assertIn(anchor, anchors(path))

    def test_every_page_for_users_is_reached(self):
        linked = set()
        for page in [DOCS / "index.md", *DOCS.glob("*/README.md")]:
            for file in re.findall(r"\]\(([^)\s#]+)", page.read_text()):
                linked.add((page.parent / file).resolve())
        for page in DOCS.rglob("*.md"):
            if page.name not in ("index.md", "README.md"):
                self.assertIn(page, linked, "no link from docs/index.md or a README of its folder")

    def test_measured_numbers_have_a_dated_source(self):
        for page in USE:
            for comments, block in blocks(page.read_text()):
                is_table = block.startswith("|")
                cells = re.sub(r"(?m)^\|[^|]*\|", "|", block) if is_table else block  # without the first column
                numbers = re.findall(r"(?<![\w.:])\d[\d,]*(?:\.\d+)?(?![\w.:]*\d)", cells)
                if not (MEASURED.search(block) if not is_table else re.search(r"\d\.\d", cells)):
                    continue
                if is_table and "not measured" in comments:
                    continue
                with self.subTest(page=page.name, block=block[:80]):
                    sources = [c[5:].strip() for c in comments if c.startswith("from ")]
                    self.assertTrue(sources, "needs <!-- from docs/lab/DATE-NAME.md --> above it")
                    text = ""
                    for source in sources:
                        self.assertRegex(source, r"^docs/lab/\d{4}-\d{2}-\d{2}-[\w-]+\.md$")
                        self.assertTrue((ROOT / source).exists(), source)
                        text += (ROOT / source).read_text()
                    for number in numbers:
                        self.assertRegex(text, rf"(?<![\d.]){re.escape(number)}(?!\d|[.,]\d)", "not in its source")

    def test_experiments_say_how_they_were_made(self):
        for page in DOCS.glob("lab/*.md"):
            if page.name == "README.md":
                continue
            with self.subTest(page=page.name):
                self.assertRegex(page.name, r"^\d{4}-\d{2}-\d{2}-[\w-]+\.md$")
                top = page.read_text()[:1500]
                for label in ("machine", "commit", "command"):
                    self.assertRegex(top, rf"(?m)^\| {label} \| \S")

    def test_commands_run(self):
        with tempfile.TemporaryDirectory() as bin_folder:
            os.symlink(TULLE, os.path.join(bin_folder, "tulle"))
            environment = {**os.environ, "PATH": bin_folder + os.pathsep + os.environ["PATH"], "OMP_WAIT_POLICY": "passive"}
            for page in USE:
                commands = [b for b in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.M | re.S)
                            if not b.startswith("# not run:") and "tulle " in b]
                if not commands:
                    continue
                with tempfile.TemporaryDirectory() as folder, self.subTest(page=page.name):
                    done = subprocess.run(["bash", "-euo", "pipefail", "-c", SETUP + "".join(commands)], cwd=folder, timeout=300,
                                          env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout[-500:])

    def test_shown_output_is_what_programs_print(self):
        seen = 0
        for page in USE:
            for name, shown in re.findall(r"<!-- output (\w+) -->\s*```text\n(.*?)^```", page.read_text(), re.M | re.S):
                seen += 1
                with tempfile.TemporaryDirectory() as folder, self.subTest(page=page.name, program=name):
                    done = subprocess.run([os.path.join(EXAMPLES, "example_" + name)], cwd=folder, timeout=60, capture_output=True,
                                          text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn(shown, done.stdout)
        self.assertGreater(seen, 0)

    def test_no_page_needs_what_is_outside_the_repository(self):
        for page in ALL:
            self.assertNotRegex(page.read_text(), r"(?<![\w.])/(?:work|tmp|root)/")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(f"usage: {os.path.basename(sys.argv[0])} TULLE EXAMPLES [unittest options]")
    TULLE, EXAMPLES = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
    unittest.main()
