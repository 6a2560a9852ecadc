#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks through the machine code of a CUDA module for registers that are read before they are there.

CS2R clears a pair of registers, and what reads them must come six cycles later or more. ptxas 13.0 left five where a
write under a condition stood between the two, and a pointer that was null was taken for one that was not. Says how
many cycles lie between, how often, and exits with 1 where there are less than six.

    scripts/sass_hazards.py build/release/src/libtulle_cuda.so
"""
import collections
import re
import subprocess
import sys

LEAST = 6  # cycles; in the code of CUDA 13.0 nothing but the case above had less
instruction = re.compile(r"\s+/\*([0-9a-f]{4,5})\*/\s+(.*?)\s*;\s+/\* 0x[0-9a-f]+ \*/")
control = re.compile(r"\s+/\* 0x([0-9a-f]{16}) \*/")
condition = re.compile(r"@!?U?P\d+ ")
clear = re.compile(r"(?:@!?U?P\d+ )?CS2R(\.32)? R(\d+), SRZ")


def registers(text):
    return {int(n) for n in re.findall(r"\bR(\d+)\b", text)}


def reads_and_writes(text):
    """The registers that an instruction reads, those that it writes, and whether under a condition."""
    is_conditional = condition.match(text) is not None
    operation, _, arguments = condition.sub("", text, count=1).partition(" ")
    first, _, others = arguments.partition(",")
    stores = operation.startswith(("ST", "RED"))
    reads = registers(arguments if stores else others)
    reads |= {n + 1 for n in registers(" ".join(re.findall(r"R\d+\.64", arguments)))}
    if operation.startswith(("DADD", "DFMA", "DMUL", "DSETP")):
        reads |= {n + 1 for n in reads}
    return reads, set() if stores else registers(first), is_conditional


def look_through(function, code, seen):
    """code: (address, cycles until the next may start, text) of each instruction."""
    for k, (address, cycles, text) in enumerate(code):
        cleared = clear.match(text)
        if not cleared:
            continue
        pair = {int(cleared[2])} | (set() if cleared[1] else {int(cleared[2]) + 1})
        for other, more, reader in code[k + 1 : k + 12]:
            reads, writes, is_conditional = reads_and_writes(reader)
            if reads & pair:
                seen[cycles] += 1
                if cycles < LEAST:
                    print(f"{function}: {address} clears, {other} reads after {cycles}: {reader}")
                break
            if (writes & pair and not is_conditional) or re.match(r"(BRA|EXIT|RET|CALL)", reader):
                break
            cycles += more


def main():
    seen = collections.Counter()
    function, code, text = "", [], None
    dump = subprocess.Popen(["cuobjdump", "-sass", sys.argv[1]], stdout=subprocess.PIPE, text=True)
    for line in dump.stdout:
        if "Function :" in line:
            look_through(function, code, seen)
            function, code = line.split(":", 1)[1].strip(), []
        elif found := instruction.match(line):
            text = found[1], found[2]
        elif (found := control.match(line)) and text:
            code.append((text[0], int(found[1], 16) >> 41 & 15, text[1]))
            text = None
    look_through(function, code, seen)
    print("cycles from a clear to its first reader:", ", ".join(f"{c}: {seen[c]}" for c in sorted(seen)))
    return 1 if dump.wait() or not seen or min(seen) < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
