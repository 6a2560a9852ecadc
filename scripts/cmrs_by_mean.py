#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Section 6 of Koza et al. from one run: what cmrs and its padded kernel (6.7) gain over the other kernels, by the mean
length of rows, and the memory utilization of eq. 6.1 and 6.2.

    tulle bench spmv gen:permutation:10000000 gen:like:mc2depi gen:poisson2d5:2048 ... --backend cuda --quick
        --formats csr,cmrs:height=1,cmrs:height=8,cmrs,cmrs:height=16:padded=true:warp=32:modulo=8,hyb --method rows
        --peers cusparse --json=run.json
    scripts/cmrs_by_mean.py run.json 4800

The second argument is the bandwidth of the device in GB/s, as its maker has it. The paper's vector kernel, a warp a row,
is cmrs of height 1; csr by the method `rows` gives a row as many lanes as it has entries on average. Its scalar kernel, a
thread a row, has no counterpart here.
"""
import json
import sys


def height(layout):
    return next((int(o.split("=")[1]) for o in layout.split(":") if o.startswith("height=")), 32)


def main(path, bandwidth):
    matrices = {}
    for line in open(path):
        r = json.loads(line)
        if "matrix" in r:
            matrices.setdefault(r["matrix"], []).append(r)
    print("| matrix | mean | cmrs, us | over a warp a row | over csr rows | over csr | over hyb | over cuSPARSE csr | over the best of these"
          " | padded over the best | eta- | eta+ |")
    print("|" + "---|" * 12)
    for name, runs in sorted(matrices.items(), key=lambda m: m[1][0]["nnz"] / m[1][0]["rows"]):
        rows, nnz = runs[0]["rows"], runs[0]["nnz"]

        def best(wanted):
            return min((r for r in runs if r["seconds"] > 0 and wanted(r)), key=lambda r: r["seconds"], default=None)

        own = [r for r in runs if not r["peer"]]
        strips = [r for r in own if r["format"].startswith("cmrs") and "padded" not in r["format"]]
        cmrs = best(lambda r: r in strips and r["format"] != "cmrs:height=1")
        padded = best(lambda r: r in own and "padded" in r["format"])
        others = [best(lambda r: r in strips and r["format"] == "cmrs:height=1"),
                  best(lambda r: r in own and r["format"] == "csr rows"),
                  best(lambda r: r in own and r["format"] == "csr"),
                  best(lambda r: r in own and r["format"] == "hyb"),
                  best(lambda r: r["peer"] and "csr" in r["format"])]
        tau = cmrs["seconds"]

        def gain(r):
            return "-" if r is None else f"{r['seconds'] / tau:.2f}"

        fastest = min((r for r in others if r), key=lambda r: r["seconds"])
        of_padded = "-" if padded is None else f"{fastest['seconds'] / padded['seconds']:.2f}"
        value = 8 if cmrs["value"] == "f64" else 4
        pointers = 4 * -(-rows // height(cmrs["format"]))
        minus = (2 * value + 4) * nnz + pointers + value * rows
        plus = (value + 4) * nnz + pointers + 2 * value * rows
        print(f"| {name} | {nnz / rows:.1f} | {tau * 1e6:.0f} | " + " | ".join(map(gain, others)) +
              f" | {gain(fastest)} | {of_padded} | {minus / tau / bandwidth / 1e9:.2f} | {plus / tau / bandwidth / 1e9:.2f} |")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], float(sys.argv[2]))
