# SPDX-License-Identifier: Apache-2.0
"""The other end of scipy.cpp: multiplies as it is told by lines on standard input, until they end.

-> SciPy and its version, or why there is none
<- value index rows cols nnz      dtypes and sizes, then the bytes of row_ptr, col, val and x
-> bytes seconds                  of the matrix, of making it
<- run                            -> seconds of one y = A @ x
<- result                         -> the bytes of y
<- poison                         y is NaN from here on; no answer
"""
import os
import signal
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nothing here calls it; it would start threads
signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides; when it is gone, input ends

commands, answers = sys.stdin.buffer, sys.stdout.buffer


def answer(data):
    answers.write(data)
    answers.flush()


def array(dtype, size):
    made = np.empty(size, dtype)
    left = memoryview(made).cast("B")
    while len(left):
        got = commands.readinto(left)
        if not got:
            sys.exit("the arrays ended early")
        left = left[got:]
    return made


try:
    import numpy as np
    import scipy
    from scipy.sparse import csr_array
except ImportError as e:
    answer(f"{e}\n".encode())
    sys.exit(1)
answer(f"SciPy {scipy.__version__}\n".encode())

value, index, *sizes = commands.readline().decode().split()
rows, cols, nnz = map(int, sizes)
row_ptr, col = array(index, rows + 1), array(index, nnz)
val, x = array(value, nnz), array(value, cols)

start = time.perf_counter()
a = csr_array((val, col, row_ptr), shape=(rows, cols))
took = time.perf_counter() - start
size = a.data.nbytes + a.indices.nbytes + a.indptr.nbytes
answer(f"{size} {took}\n".encode())

y = np.zeros(rows, value)
for command in commands:
    if command == b"run\n":
        start = time.perf_counter()
        y = a @ x
        took = time.perf_counter() - start
        answer(f"{took}\n".encode())
    elif command == b"result\n":
        answer(memoryview(y).cast("B"))
    elif command == b"poison\n":
        y[:] = np.nan
