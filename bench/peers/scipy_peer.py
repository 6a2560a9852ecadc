# SPDX-License-Identifier: Apache-2.0
"""The other end of scipy.cpp: computes as it is told by lines on standard input, until they end.

-> SciPy and its version, or why there is none
<- spmv value index rows cols nnz         dtypes and sizes, then the bytes of row_ptr, col, val and x; likewise spmv_transposed
   sddmm columns value index rows cols nnz    with X and Y after the matrix
   spmspv entries value index rows cols nnz    with the indices and values of x after the matrix
   convert to value index rows cols nnz   the same without x
   transpose value index rows cols nnz    and here
   add alpha value index rows cols nnz b_nnz    and here, for A and then for B
   multiply value index rows cols nnz b_rows b_cols b_nnz    and here; likewise kron
   assemble value index rows cols nnz     then the bytes of row, col and val
   read to value index threads path
-> bytes seconds                          of the matrix, of making it
<- run                                    -> seconds of one call
<- result                                 -> the bytes of y, or of a csr: sizes on a line, then its arrays
<- poison                                 what was computed is forgotten; no answer
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
    import scipy.io
    import scipy.sparse
    from scipy.sparse import coo_array, csr_array
except ImportError as e:
    answer(f"{e}\n".encode())
    sys.exit(1)
answer(f"SciPy {scipy.__version__}\n".encode())


class Hub:
    """A, of arrays that follow on the line: row_ptr, col, val."""

    def __init__(self, value, index, rows, cols, nnz):
        rows, cols, nnz = int(rows), int(cols), int(nnz)
        row_ptr, col, val = array(index, rows + 1), array(index, nnz), array(value, nnz)
        start = time.perf_counter()
        self.a = csr_array((val, col, row_ptr), shape=(rows, cols))
        self.seconds = time.perf_counter() - start


class Spmv(Hub):
    """y = A @ x, where x follows A."""

    def __init__(self, value, index, rows, cols, nnz):
        super().__init__(value, index, rows, cols, nnz)
        self.x = array(value, int(cols))
        self.y = np.zeros(int(rows), value)

    def run(self):
        self.y = self.a @ self.x

    def result(self):
        answer(memoryview(self.y).cast("B"))

    def poison(self):
        self.y[:] = np.nan


class SpmvTransposed(Spmv):
    """y = A.T @ x."""

    def __init__(self, value, index, rows, cols, nnz):
        Hub.__init__(self, value, index, rows, cols, nnz)
        self.x = array(value, int(rows))
        self.y = np.zeros(int(cols), value)

    def run(self):
        self.y = self.a.T @ self.x


class Sddmm(Spmv):
    """x[i] . y[j] at the entries (i, j) of A, a few at a time, as NumPy does it."""

    def __init__(self, columns, value, index, rows, cols, nnz):
        Hub.__init__(self, value, index, rows, cols, nnz)
        width, n, m = int(columns), int(rows), int(cols)
        self.x, self.dense = array(value, n * width).reshape(n, width), array(value, m * width).reshape(m, width)
        self.row = np.repeat(np.arange(n), np.diff(self.a.indptr))
        self.y = np.zeros(int(nnz), value)

    def run(self):
        for k in range(0, len(self.y), 1 << 14):
            here = slice(k, k + (1 << 14))
            self.y[here] = np.einsum("ij,ij->i", self.x[self.row[here]], self.dense[self.a.indices[here]])


class Made:
    """Something that run() makes and that is handed out as csr."""

    seconds = 0
    a = None

    def poison(self):
        self.a = None

    def result(self):
        c = self.a.tocsr()
        c.sum_duplicates()
        c.sort_indices()
        answer(f"{c.shape[0]} {c.shape[1]} {c.nnz}\n".encode())
        for part, dtype in ((c.indptr, self.index), (c.indices, self.index), (c.data, self.value)):
            answer(memoryview(np.ascontiguousarray(part, dtype)).cast("B"))


class Spmspv(Made):
    """A and x by columns, x as a matrix of one column; y is handed out as a row."""

    def __init__(self, entries, value, index, rows, cols, nnz):
        self.value, self.index = value, index
        self.hub = Hub(value, index, rows, cols, nnz).a.tocsc()
        n = int(entries)
        at, val = array(index, n), array(value, n)
        self.x = csr_array((val, at, np.array([0, n], index)), shape=(1, int(cols))).T
        self.run()

    def run(self):
        self.a = None
        self.a = (self.hub @ self.x).T


class Convert(Made):
    def __init__(self, to, *arguments):
        self.to, (self.value, self.index) = to, arguments[:2]
        self.hub = Hub(*arguments).a
        self.run()

    def run(self):
        self.a = None
        self.a = self.hub.tocoo(copy=True) if self.to == "coo" else self.hub.tocsc(copy=True)


class Transpose(Made):
    def __init__(self, *arguments):
        self.value, self.index = arguments[:2]
        self.hub = Hub(*arguments).a
        self.run()

    def run(self):
        self.a = None
        self.a = self.hub.T.tocsr()


class Add(Made):
    """It scales in an operation of its own, and leaves out zeros that come out."""

    def __init__(self, alpha, value, index, rows, cols, nnz, b_nnz):
        self.value, self.index = value, index
        self.alpha = np.dtype(value).type(alpha)
        self.hub = Hub(value, index, rows, cols, nnz).a
        self.b = Hub(value, index, rows, cols, b_nnz).a
        self.run()

    def run(self):
        self.a = None
        self.a = self.alpha * self.hub + self.b


class OfTwo(Made):
    """A and B, each with its sizes."""

    def __init__(self, value, index, rows, cols, nnz, *b):
        self.value, self.index = value, index
        self.hub = Hub(value, index, rows, cols, nnz).a
        self.b = Hub(value, index, *b).a
        self.run()


class Multiply(OfTwo):
    def run(self):
        self.a = None
        self.a = self.hub.multiply(self.b)


class Kron(OfTwo):
    def run(self):
        self.a = None
        self.a = scipy.sparse.kron(self.hub, self.b, format="csr")


class Assemble(Made):
    def __init__(self, value, index, rows, cols, nnz):
        self.value, self.index, self.shape = value, index, (int(rows), int(cols))
        row, col, val = array(index, int(nnz)), array(index, int(nnz)), array(value, int(nnz))
        self.triplets = val, (row, col)
        self.run()

    def run(self):
        self.a = None
        self.a = coo_array(self.triplets, shape=self.shape).tocsr()  # sums duplicates, sorts rows


class Read(Made):
    def __init__(self, to, value, index, threads, path):
        from scipy.io import _fast_matrix_market
        self.to, self.value, self.index, self.path = to, value, index, path
        _fast_matrix_market.PARALLELISM = int(threads)
        self.run()

    def run(self):
        self.a = None
        self.a = scipy.io.mmread(self.path, spmatrix=False)
        if self.to == "csr":
            self.a = self.a.tocsr()


op, line = commands.readline().decode().rstrip("\n").split(" ", 1)
arguments = line.split(" ", 4) if op == "read" else line.split(" ")  # a path may hold blanks
peers = {"spmv": Spmv, "spmv_transposed": SpmvTransposed, "sddmm": Sddmm, "spmspv": Spmspv, "convert": Convert, "transpose": Transpose, "add": Add, "multiply": Multiply, "kron": Kron, "assemble": Assemble, "read": Read}
peer = peers[op](*arguments)
parts = [getattr(peer.a, name) for name in ("data", "indices", "indptr", "row", "col") if hasattr(peer.a, name)]
answer(f"{sum(part.nbytes for part in parts)} {peer.seconds}\n".encode())

for command in commands:
    if command == b"run\n":
        start = time.perf_counter()
        peer.run()
        took = time.perf_counter() - start
        answer(f"{took}\n".encode())
    elif command == b"result\n":
        peer.result()
    elif command == b"poison\n":
        peer.poison()
