# SPDX-License-Identifier: Apache-2.0
"""A report in a browser: every bar is in the page, nothing is complained of, it fits the screen, it shows.

python3 report_in_browser.py PAGE.html RESULTS.json [SCREENSHOT.png]

Exits 77, which ctest calls skipped, where chromium is not installed.
"""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

WIDTHS = [1200, 500]  # a desk, and the narrowest window that headless chromium makes
# Of the browser's own, on a machine without a desktop; the page's complaints are lines with CONSOLE.
CONSOLE = re.compile(r"\bCONSOLE\b|Uncaught|Refused to|ERR_")


def chromium(browser, profile, *arguments):
    command = [browser, "--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
               "--enable-logging=stderr", "--v=0", "--user-data-dir=" + profile]
    if os.geteuid() == 0:
        command.append("--no-sandbox")
    done = subprocess.run(command + list(arguments), capture_output=True, timeout=180, check=False)
    if done.returncode != 0:
        sys.exit(f"{browser} exited with {done.returncode}:\n"
                 + done.stderr.decode(errors="replace")[-2000:])
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def pixels(png):
    """Width, height and the filtered bytes of a PNG: enough to tell a blank one."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG"
    at, body, size = 8, b"", None
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IHDR":
            size = struct.unpack(">II", png[at + 8:at + 16])
        elif kind == b"IDAT":
            body += png[at + 8:at + 8 + length]
        at += 12 + length
    return *size, zlib.decompress(body)


def measured(page, folder):
    """A copy of the page that writes down how wide it came out and how many bars it shows: the page itself
    has no script."""
    probe = pathlib.Path(folder) / "probe.html"
    script = """<script>
addEventListener("load", () => {
  const root = document.documentElement;
  document.body.dataset.measured = [root.scrollWidth, root.clientWidth,
    document.querySelectorAll("[data-bar]").length,
    [...document.querySelectorAll("rect[data-bar]")].filter(r => r.getBoundingClientRect().width > 0.5).length
  ].join(" ");
});
</script>"""
    probe.write_text(page.read_text(encoding="utf-8").replace("</body>", script + "</body>"),
                     encoding="utf-8")
    return probe.as_uri()


def bars_of(results):
    """Right results have a bar, wrong ones and points of a sweep have none."""
    with open(results, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return sum(1 for r in records if "run" not in r and r["verified"] and not r["option"])


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("skipped: chromium is not installed (apt-get install chromium)")
        sys.exit(77)
    page, bars = pathlib.Path(sys.argv[1]).resolve(), bars_of(sys.argv[2])
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, "profile")
        dom, log = chromium(browser, profile, "--dump-dom", page.as_uri())
        complaints = [line for line in log.splitlines() if CONSOLE.search(line)]
        if complaints:
            failures.append("console: " + "; ".join(complaints))
        found = len(re.findall(r"\bdata-bar=", dom))
        if found != bars:
            failures.append(f"{found} bars in the page, {bars} expected")

        for width in WIDTHS:
            dom, _ = chromium(browser, profile, f"--window-size={width},900", "--dump-dom",
                              measured(page, folder))
            answer = re.search(r'data-measured="(\d+) (\d+) (\d+) (\d+)"', dom)
            if answer is None:
                failures.append(f"at {width} pixels: no measurements came back")
                continue
            scroll, client, drawn, visible = map(int, answer.groups())
            if scroll > client:
                failures.append(f"at {width} pixels: the page is {scroll} wide, the window {client}")
            if drawn != bars or (bars and not visible):  # some may be too short to see
                failures.append(f"at {width} pixels: {drawn} bars, {visible} of them visible")

        shot = sys.argv[3] if len(sys.argv) == 4 else os.path.join(folder, "page.png")
        chromium(browser, profile, "--window-size=1200,4000", f"--screenshot={os.path.abspath(shot)}",
                 page.as_uri())
        width, height, body = pixels(pathlib.Path(shot).read_bytes())
        if (width, height) != (1200, 4000):
            failures.append(f"the screenshot is {width} x {height}")
        # Filtered rows of one colour are zeros but for the first bytes.
        if sum(1 for byte in body if byte) < len(body) // 500:
            failures.append("the screenshot is blank")
    for failure in failures:
        print("FAILED:", failure)
    if not failures:
        print(f"{bars} bars, no complaints, fits {' and '.join(map(str, WIDTHS))} pixels")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
