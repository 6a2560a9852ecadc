#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the trees of src/choose/trees.inc to measured times, and says how well they choose.

    tools/choose/train.py measured.csv                       # cross-validation by family
    tools/choose/train.py measured.csv -o src/choose/trees.inc

measured.csv has a line per matrix and value type: matrix, family, the fields of tulle::features, and the seconds of a
product in csr, sell and panels. It is made of `tulle bench spmv --json` and `tulle recommend --json`: see --collect.

    tools/choose/train.py measured.csv --collect bench.json... --features recommend.json...

Each tree asks two questions and adds a number to the logarithm of a layout's time over csr's. Whole families are held out:
all real matrices of one name, all generated ones of one kind. Needs scikit-learn.
"""
import argparse
import csv
import json
import math
import re
import sys
import zlib

FIELDS = ["row_length", "changed_rows", "stepped_rows", "empty_rows", "far_entries", "distant_entries", "sliced_fill",
          "shifted", "same_columns", "diagonals", "rows", "vector_bytes", "matrix_bytes", "value_bytes"]
LAYOUTS = ["sell", "panels"]
FOLDS = 14


def inputs(row):
    """What the trees ask for, in the order of FIELDS: as of(features) in src/choose/model.cpp."""
    number = lambda name: float(row[name])
    value, rows, cols, nnz = number("value_bytes"), number("rows"), number("cols"), number("nnz")
    special = {"row_length": math.log2(max(number("row_length"), .5)), "rows": math.log2(max(rows, 1)),
               "vector_bytes": math.log2(max(cols * value, 1)), "matrix_bytes": math.log2(max(nnz * (value + 4) + 4 * rows, 1))}
    return [special.get(f, number(f) if f in row else 0) for f in FIELDS]


def target(row, layout):
    return max(-1.5, min(.8, math.log(float(row[layout]) / float(row["csr"]))))


def fitted(rows, layout):
    from sklearn.ensemble import GradientBoostingRegressor
    model = GradientBoostingRegressor(n_estimators=80, max_depth=2, learning_rate=.12, subsample=.7, min_samples_leaf=5,
                                      random_state=1)
    return model.fit([inputs(r) for r in rows], [target(r, layout) for r in rows])


def fold_of(row):
    return zlib.crc32(row["family"].encode()) % FOLDS


def report(rows):
    foretold = {id(r): {"csr": 0.0} for r in rows}
    for layout in LAYOUTS:
        error = []
        for fold in range(FOLDS):
            rest = [r for r in rows if fold_of(r) != fold]
            held = [r for r in rows if fold_of(r) == fold]
            if held:
                for r, p in zip(held, fitted(rest, layout).predict([inputs(r) for r in held])):
                    foretold[id(r)][layout] = p
                    error.append(p - math.log(float(r[layout]) / float(r["csr"])))
        print(f"{layout}: error of the logarithm {math.sqrt(sum(e * e for e in error) / len(error)):.3f}")
    kept = []
    for r in rows:
        time = {l: float(r[l]) for l in ["csr"] + LAYOUTS}
        pick = min(time, key=lambda l: foretold[id(r)][l])
        kept.append((min(time.values()) / time[pick], r["matrix"], pick, min(time, key=time.get)))
    kept.sort()
    mean = math.exp(sum(math.log(k[0]) for k in kept) / len(kept))
    always = math.exp(sum(math.log(min(float(r[l]) for l in ["csr"] + LAYOUTS) / float(r["csr"])) for r in rows) / len(rows))
    print(f"of the best of {len(LAYOUTS) + 1}: mean {mean:.3f}, 5th percentile {kept[len(kept) // 20][0]:.2f}, least {kept[0][0]:.2f}; "
          f"csr always {always:.3f}")
    for k in kept[:8]:
        print("  %.2f %s: picked %s, best is %s" % k)


def write(rows, path):
    lines = ["// SPDX-License-Identifier: Apache-2.0", "// Written by tools/choose/train.py. Do not edit.", ""]
    for layout in LAYOUTS:
        model = fitted(rows, layout)
        lines.append(f"constexpr double {layout}_base = {model.init_.constant_[0][0]:.6g};")
        lines.append(f"constexpr tree {layout}_trees[] = {{")
        for (one,) in model.estimators_:
            t = one.tree_
            leaf = lambda n: model.learning_rate * t.value[n][0][0]
            question = lambda n: (int(t.feature[n]), float(t.threshold[n])) if t.feature[n] >= 0 else (0, 0.0)
            left, right = int(t.children_left[0]), int(t.children_right[0])
            leaves = []
            for side in (left, right):
                inner = t.feature[side] >= 0
                leaves += [leaf(t.children_left[side]), leaf(t.children_right[side])] if inner else [leaf(side)] * 2
            (f0, x0), (f1, x1), (f2, x2) = question(0), question(left), question(right)
            lines.append("    {{%d, %d, %d}, {%.6g, %.6g, %.6g}, {%s}}," %
                         (f0, f1, f2, x0, x1, x2, ", ".join("%.5g" % v for v in leaves)))
        lines.append("};")
    with open(path, "w") as out:
        out.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured")
    parser.add_argument("-o", "--output", help="write the trees there")
    parser.add_argument("--collect", nargs="+", metavar="JSON", help="records of tulle bench spmv: writes MEASURED")
    parser.add_argument("--features", nargs="+", metavar="JSON", help="what tulle recommend --json said of each matrix")
    o = parser.parse_args()
    if o.collect:
        collect(o)
    with open(o.measured) as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    report(rows)
    if o.output:
        write(rows, o.output)


def short(matrix):
    return re.sub(r"\.mtx(\.gz)?$", "", matrix.rsplit("/", 1)[-1])


def family(matrix):
    """Real matrices by name, generated ones by kind; stand-ins count as the matrix that they stand for."""
    if matrix.startswith("gen:like:"):
        return matrix
    if matrix.startswith("gen:"):
        return re.match(r"gen:[a-z]+", matrix)[0]
    return re.sub(r"[-_\d].*", "", matrix) or matrix


def collect(o):
    features = {}
    for path in o.features or []:
        with open(path) as file:
            said = json.load(file)
        features[short(said["matrix"])] = said["features"]
    seconds = {}
    for path in o.collect:
        with open(path) as file:
            for line in file:
                try:
                    r = json.loads(line)
                except json.JSONDecodeError:
                    continue
                if r.get("format") in ["csr"] + LAYOUTS and not r.get("peer"):
                    seconds.setdefault((short(r["matrix"]), r["value"]), {})[r["format"]] = r["seconds"]
    with open(o.measured, "w", newline="") as out:
        names = list(next(iter(features.values())))
        table = csv.writer(out)
        table.writerow(["matrix", "family"] + names + ["csr"] + LAYOUTS)
        for (matrix, value), t in sorted(seconds.items()):
            if matrix in features and len(t) == len(LAYOUTS) + 1:
                f = dict(features[matrix], value_bytes=8 if value == "f64" else 4)
                table.writerow([matrix, family(matrix)] + [f"{f[n]:.6g}" for n in names] +
                               ["%.4g" % t[l] for l in ["csr"] + LAYOUTS])


if __name__ == "__main__":
    sys.exit(main())
