#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what documentation repeats: the tables of formats from formats.def and the heads of the format headers, and code from
programs under examples/, which the tests compile and run. In README.md and docs/use/*.md it fills

    <!-- formats core -->              a table of that shelf             <!-- /formats -->
    <!-- format-sections core -->      a section per format              <!-- /format-sections -->
    <!-- example FILE [REGION] -->     examples/FILE, or of it what lies <!-- /example -->
                                       between // [REGION] and // [/REGION]

    scripts/docs_tables.py           rewrite what lies between the markers
    scripts/docs_tables.py --check   exit 1 and name the file if something would change, or if a block of C++ has no example
"""
import pathlib
import re
import sys
import textwrap

root = pathlib.Path(__file__).resolve().parent.parent
folder = root / "include/tulle/format"


def formats(shelf):
    text = (folder / "formats.def").read_text()
    line = re.compile(r"^TULLE_FORMAT\(\s*(\w+)\s*,\s*(\w+)\s*,\s*(\w+)\s*,\s*([A-Z| ]+),\s*([A-Z| ]+)\)", re.M)
    found = line.findall(text)
    if not found or len(found) != len(re.findall(r"^TULLE_FORMAT\(", text, re.M)):
        sys.exit("formats.def: a line that cannot be read")
    for name, its_shelf, types, *ops in found:
        if its_shelf == shelf:
            yield name, types, *(", ".join(b.strip().lower() for b in op.split("|")) for op in ops)


def head(name):
    """The /// block at the top of a format's header: what it is, its picture and the labelled paragraphs."""
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


def first_sentence(text):
    return re.match(r".*?[.](?=\s+[A-Z]|$)", text).group(0)


def table(shelf):
    rows = ["| format | what it is | good for | spmv on |", "|---|---|---|---|"]
    for name, _, spmv, _ in formats(shelf):
        h = head(name)
        rows.append(f"| `{name}` | {first_sentence(h['what'])} | {first_sentence(h['Good for'])} | {spmv} |")
    return "\n".join(rows) + "\n"


def sections(shelf):
    parts = []
    for name, types, spmv, spmm in formats(shelf):
        h = head(name)
        kernels = f"spmv on {spmv}; spmm " + ("column by column" if spmm == "none" else f"on {spmm}")
        parts.append(f"""### {name}

{first_sentence(h['what'])}

```text
{h['picture']}
```

- **Good for** {h['Good for']}
- **Bad for** {h['Bad for']}
- **Space** {h['Space']}
- **Kernels** {kernels}. Types: {types}.
- **From** {h['From']}
""")
    return "\n".join(parts)


def code(file, region):
    path = root / "examples" / file
    if not path.exists():
        sys.exit(f"examples/{file}: there is no such program")
    text = path.read_text().split("\n", 1)[1]  # without the licence
    if region:
        found = re.search(rf"^ *// \[{re.escape(region)}\]\n(.*?)^ *// \[/{re.escape(region)}\]$", text, re.M | re.S)
        if not found:
            sys.exit(f"examples/{file}: there is no region [{region}]")
        text = textwrap.dedent(found[1])
    return f"```cpp\n{text.rstrip()}\n```\n"


def written(path, old):
    fills = (
        (r"(<!-- formats (\w+) -->\n).*?(<!-- /formats -->)", lambda m: table(m[2])),
        (r"(<!-- format-sections (\w+) -->\n).*?(<!-- /format-sections -->)", lambda m: sections(m[2])),
        (r"(<!-- example (\S+)(?: (\w+))? -->\n).*?(<!-- /example -->)", lambda m: code(m[2], m[3])),
    )
    new = old
    for pattern, make in fills:
        new = re.sub(pattern, lambda m: m[1] + make(m) + m[m.lastindex], new, flags=re.S)
    left = re.sub(r"<!-- example .*?<!-- /example -->", "", new, flags=re.S)
    if "```cpp" in left or "```c++" in left:
        sys.exit(f"{path.relative_to(root)}: a block of C++ that is no example; tie it to a program by <!-- example ... -->")
    return new


def main():
    check = "--check" in sys.argv
    stale = []
    for path in [root / "README.md", *sorted((root / "docs/use").glob("*.md"))]:
        old = path.read_text()
        new = written(path, old)
        if new != old:
            stale.append(str(path.relative_to(root)))
            if not check:
                path.write_text(new)
    if check and stale:
        sys.exit(f"{', '.join(stale)}: not what headers and examples say; run scripts/docs_tables.py")


main()
