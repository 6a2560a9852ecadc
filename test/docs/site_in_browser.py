# SPDX-License-Identifier: Apache-2.0
"""The built site: no dead links, no complaints of a browser, readable on a phone, and its search finds things.

python3 site_in_browser.py SITE [SCREENSHOTS]

Exits 77, which ctest calls skipped, where chromium is not installed or the site was not built.
"""

import functools
import html.parser
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

PHONE = 390  # pixels
AT_A_TIME = 12  # pages in one run of the browser
CONSOLE = re.compile(r"\bCONSOLE\b|Uncaught|Refused to|ERR_")


class Page(html.parser.HTMLParser):
    """What a page links to, and what can be linked to in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.ids = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        have = dict(attributes)
        if have.get("id"):
            self.ids.add(have["id"])
        if tag == "a" and have.get("href"):
            self.links.append(have["href"])
        if tag in ("img", "script", "source") and have.get("src"):
            self.loads.append(have["src"])
        if tag == "link" and have.get("href") and have.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(have["href"])


def dead_links(site):
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for target in page.links + page.loads:
            url = urllib.parse.urlsplit(target)
            where = f"{path.relative_to(site)}: {target}"
            if url.scheme or url.netloc:
                if target in page.loads and url.scheme != "data":
                    yield f"{where}: loaded from elsewhere"
                continue
            to = path if not url.path else (path.parent / urllib.parse.unquote(url.path)).resolve()
            if url.path.startswith("/") or (path.name == "404.html" and not to.exists()):
                to = site / url.path.lstrip("/")  # the page of what is missing may be shown anywhere
            if to.is_dir():
                to = to / "index.html"
            if not to.exists():
                yield f"{where}: no such file"
            elif url.fragment and to.suffix == ".html" and urllib.parse.unquote(url.fragment) not in pages[to].ids:
                yield f"{where}: no such place in the page"


class Server(http.server.SimpleHTTPRequestHandler):
    missing = []

    def do_GET(self):
        if self.path == "/slow":  # a page that has it waits for what it shows to be complete
            time.sleep(8)
        super().do_GET()

    def log_message(self, *_):
        pass

    def send_error(self, code, *rest, **named):
        Server.missing.append(f"{self.path}: {code}")
        super().send_error(code, *rest, **named)


def chromium(browser, profile, *arguments):
    command = [browser, "--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--enable-logging=stderr", "--v=0",
               "--user-data-dir=" + profile]
    if os.geteuid() == 0:
        command.append("--no-sandbox")
    done = subprocess.run(command + list(arguments), capture_output=True, timeout=300, check=False)
    log = done.stderr.decode(errors="replace")
    if done.returncode != 0:
        sys.exit(f"{browser} exited with {done.returncode}:\n{log[-2000:]}")
    return done.stdout.decode(errors="replace"), [line for line in log.splitlines() if CONSOLE.search(line)]


# Frames as wide as a phone: headless windows are not so narrow. Whatever sticks out is named.
PROBE = """<!DOCTYPE html><title>probe</title><style>iframe { width: %dpx; height: 800px; border: 0 }</style>%s<script>
addEventListener("load", () => {
  const said = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, root = page.documentElement, wide = [];
    if (root.scrollWidth > root.clientWidth)
      for (const e of page.querySelectorAll("article *"))
        if (e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest("pre, .md-typeset__scrollwrap, .md-typeset__table"))
          wide.push(e.tagName + " " + e.textContent.slice(0, 30));
    const text = page.querySelector("article p, article li, article td");
    said.push([frame.getAttribute("src"), root.scrollWidth, root.clientWidth, text ? parseFloat(getComputedStyle(text).fontSize) : 0,
               wide.slice(0, 3).join(" / ")].join("|"));
  }
  document.title = said.join("\\n");
});
</script>"""

SEARCH = """<!DOCTYPE html><title>probe</title><iframe src="%s" width=1200 height=900></iframe><img src="slow" alt=""><script>
addEventListener("load", () => {
  const found = document.querySelector("iframe").contentDocument.querySelectorAll(".md-search-result__link");
  document.body.innerHTML = [...found].map(a => `<a href="${a.getAttribute("href")}" class="md-search-result__link">`).join("");
});
</script>"""


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    site = pathlib.Path(sys.argv[1]).resolve()
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None or not (site / "index.html").exists():
        print("skipped: " + ("chromium is not installed" if browser is None else f"{site} was not built"))
        sys.exit(77)
    failures = list(dead_links(site))
    pages = [str(p.relative_to(site)) for p in sorted(site.rglob("*.html")) if p.name != "404.html"]
    with tempfile.TemporaryDirectory() as folder:
        served = pathlib.Path(folder) / "served"
        shutil.copytree(site, served)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=str(served)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        profile = os.path.join(folder, "profile")

        measured = 0
        for first in range(0, len(pages), AT_A_TIME):
            some = pages[first:first + AT_A_TIME]
            (served / "probe.html").write_text(PROBE % (PHONE, "".join(f'<iframe src="{p}"></iframe>' for p in some)))
            dom, complaints = chromium(browser, profile, "--dump-dom", address + "probe.html")
            failures += [f"console: {line}" for line in complaints]
            title = re.search(r"<title>(.*?)</title>", dom, re.S)
            lines = html.unescape(title[1]).splitlines() if title else []
            for line in lines:
                if line.count("|") < 4:
                    continue
                page, scroll, client, size, wide = line.split("|", 4)
                measured += 1
                if int(scroll) > int(client):
                    failures.append(f"{page}: {scroll} pixels wide on a phone of {client}: {wide}")
                if float(size) and float(size) < 12:
                    failures.append(f"{page}: text of {size} pixels on a phone")
        if measured != len(pages):
            failures.append(f"{measured} of {len(pages)} pages could be measured")
        failures += [f"not served: {what}" for what in Server.missing if "favicon.ico" not in what]

        # The search, as a reader uses it; from a file as well, without a server.
        (served / "slow").write_text("")
        for query, wanted in (("sparse times sparse", "use/spgemm.html"), ("optimize_options", "api/op/optimize.html")):
            asked = f"index.html?q={urllib.parse.quote(query)}"
            (served / "probe.html").write_text(SEARCH % asked)
            for where, call in (("server", ["--dump-dom", address + "probe.html"]),
                                ("file", ["--virtual-time-budget=20000", "--dump-dom", f"{site.as_uri()}/{asked}"])):
                dom, complaints = chromium(browser, profile, *call)
                found = re.findall(r'<a href="([^"]*)" class="md-search-result__link"', dom)
                if not any(wanted in link for link in found):
                    failures.append(f"search for {query} from a {where}: {wanted} is not among {len(found)} results {found[:5]}")
                failures += [f"console: {line}" for line in complaints]

        if len(sys.argv) == 3:
            shots = pathlib.Path(sys.argv[2])
            shots.mkdir(parents=True, exist_ok=True)
            for page in ("index.html", "use/formats.html", "api/op/spmv.html"):
                name = page.replace("/", "-").replace(".html", "")
                chromium(browser, profile, "--window-size=1300,1500", f"--screenshot={shots / (name + '.png')}", address + page)
                (served / "phone.html").write_text(f'<style>body {{ margin: 0 }} iframe {{ width: {PHONE}px; height: 1400px; border: 0 }}'
                                                   f'</style><iframe src="{page}"></iframe>')
                chromium(browser, profile, f"--window-size=500,1400", f"--screenshot={shots / (name + '-phone.png')}", address + "phone.html")
        server.shutdown()
    for failure in failures[:200]:
        print("FAILED:", failure)
    print(f"{len(pages)} pages, {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
