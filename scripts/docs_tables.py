#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what documentation repeats: the tables of formats in README.md and docs/formats.md from formats.def and the heads
of the format headers, and the program in README.md from examples/readme.cpp, which the tests run.

    scripts/docs_tables.py           rewrite what lies between the markers
    scripts/docs_tables.py --check   exit 1 and name the file if something would change
"""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
folder = root / "include/tulle/format"


shelves = ("core", "literature")  # in this order; internal formats are in no list that users see


def formats():
    text = (folder / "formats.def").read_text()
    line = re.compile(r"^TULLE_FORMAT\(\s*(\w+)\s*,\s*(\w+)\s*,\s*(\w+)\s*,\s*([A-Z| ]+),\s*([A-Z| ]+)\)", re.M)
    found = line.findall(text)
    if not found or len(found) != len(re.findall(r"^TULLE_FORMAT\(", text, re.M)):
        sys.exit("formats.def: a line that cannot be read")
    for shelf in shelves:
        for name, its_shelf, types, *ops in found:
            if its_shelf == shelf:
                yield name, shelf, types, *(", ".join(b.strip().lower() for b in op.split("|")) for op in ops)


def head(name):
    """The /// block at the top of a format's header: its first sentence and the labelled paragraphs."""
    text = (folder / f"{name}.hpp").read_text()
    lines = [l[3:].rstrip() for l in re.search(r"(?:^///.*\n)+", text, re.M).group(0).splitlines()]
    fields, label = {"what": []}, "what"
    for line in lines:
        labelled = re.match(r" (Good for|Bad for|Space|From)\s+(.*)", line)
        if labelled:
            label = labelled.group(1)
            fields[label] = [labelled.group(2)]
        elif line.startswith("     ") and label == "what":
            fields.setdefault("picture", []).append(line[5:])
        elif not line.strip():
            label = "what" if label == "what" else None
        elif label:
            fields.setdefault(label, []).append(line.strip())
    picture = "\n".join(fields.pop("picture", []))
    return {k: " ".join(v).strip() for k, v in fields.items()} | {"picture": picture}


def short_table():
    rows = ["| format | shelf | what it is | good for | spmv on |", "|---|---|---|---|---|"]
    for name, shelf, _, spmv, _ in formats():
        h = head(name)
        rows.append(f"| `{name}` | {shelf} | {h['what']} | {h['Good for']} | {spmv} |")
    return "\n".join(rows)


def long_text():
    parts = []
    for name, shelf, types, spmv, spmm in formats():
        h = head(name)
        parts.append(f"""### {name}

{h['what']}

```
{h['picture']}
```

| | |
|---|---|
| good for | {h['Good for']} |
| bad for | {h['Bad for']} |
| space | {h['Space']} |
| shelf | {shelf} |
| types | {types} |
| spmv kernels | {spmv} |
| spmm kernels | {spmm.replace('none', 'none: column by column')} |
| from | {h['From']} |
""")
    return "\n".join(parts)


def program(name):
    return (root / "examples" / name).read_text().split("\n", 1)[1]


def main():
    check = "--check" in sys.argv
    stale = []
    for path, text in ((root / "README.md", short_table()), (root / "docs/formats.md", short_table() + "\n\n" + long_text())):
        old = path.read_text()
        new = re.sub(r"(<!-- formats -->\n).*?(<!-- /formats -->)", lambda m: m[1] + text + "\n" + m[2], old, flags=re.S)
        new = re.sub(r"(<!-- example (\S+) -->\n).*?(<!-- /example -->)",
                     lambda m: f"{m[1]}```cpp\n{program(m[2])}```\n{m[3]}", new, flags=re.S)
        if "<!-- formats -->" not in old:
            sys.exit(f"{path.name}: no <!-- formats --> marker")
        if new != old:
            stale.append(path.name)
            if not check:
                path.write_text(new)
    if check and stale:
        sys.exit(f"{', '.join(stale)}: not what the headers say; run scripts/docs_tables.py")


main()
