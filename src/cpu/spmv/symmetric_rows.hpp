// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y, A's lower triangle in csr, by blocks of rows as symmetric.hpp says: an
// entry is read once and used twice.
#pragma once
#include "cpu/spmv/symmetric.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// For rows of squares of side x side slots, with ascending columns. Returns bytes of workspace.
template <class V, class I, class O>
std::size_t prepare_symmetric_rows(std::int64_t rows, std::int64_t squares, int side,
                                   O const* row_ptr, I const* col, plan_view& p) {
  return prepare_symmetric<V>(
      side, squares * side * side, p,
      [=](std::int64_t b, std::int64_t blocks) { // so that squares and rows are dealt evenly
        std::int64_t const wanted = (squares + rows) / blocks * b;
        std::int64_t lo = 0;
        for (std::int64_t hi = rows; lo < hi;) {
          std::int64_t const mid = (lo + hi) / 2;
          if (static_cast<std::int64_t>(row_ptr[mid]) + mid < wanted)
            lo = mid + 1;
          else
            hi = mid;
        }
        return b == blocks ? rows : lo;
      },
      [=](std::int64_t i, std::int64_t end) {
        std::int64_t lowest = end;
        for (; i < end; ++i)
          if (row_ptr[i] < row_ptr[i + 1] && col[row_ptr[i]] < lowest)
            lowest = col[row_ptr[i]];
        return lowest * side;
      });
}

/// Entries [k, end) of a row: returns their sum times x, and adds ax times each to out of its
/// column. Columns of a row differ, so four are loaded before one is stored. With one sum instead
/// of several, ms on Zen 4 with two threads: poisson2d5 2000 9.8 instead of 9.3, poisson3d27 100
/// 9.2 instead of 8.4, fem 1.6 instead of 1.3.
template <class V, class I>
HWY_INLINE V both_ways(V const* val, I const* col, V const* x, V ax, V* out, std::int64_t k,
                       std::int64_t end) {
  V s0{}, s1{}, s2{}, s3{};
  for (; k + 4 <= end; k += 4) {
    std::int64_t const j0 = col[k], j1 = col[k + 1], j2 = col[k + 2], j3 = col[k + 3];
    V const v0 = val[k], v1 = val[k + 1], v2 = val[k + 2], v3 = val[k + 3];
    s0 = mul_add(v0, x[j0], s0);
    s1 = mul_add(v1, x[j1], s1);
    s2 = mul_add(v2, x[j2], s2);
    s3 = mul_add(v3, x[j3], s3);
    V const y0 = mul_add(v0, ax, out[j0]);
    V const y1 = mul_add(v1, ax, out[j1]);
    V const y2 = mul_add(v2, ax, out[j2]);
    V const y3 = mul_add(v3, ax, out[j3]);
    out[j0] = y0;
    out[j1] = y1;
    out[j2] = y2;
    out[j3] = y3;
  }
  for (; k < end; ++k) {
    std::int64_t const j = col[k];
    s0 = mul_add(val[k], x[j], s0);
    out[j] = mul_add(val[k], ax, out[j]);
  }
  return (s0 + s1) + (s2 + s3);
}

/// Rows [i, end) of one block: columns before its first row go to the window.
template <class V, class I, class O>
HWY_NOINLINE void symmetric_rows(V alpha, O const* row_ptr, I const* col, V const* val, V const* x,
                                 V beta, V* y, std::int64_t i, std::int64_t end, V* window) {
  std::int64_t const first_row = i;
  bool const overwrite = beta == V{};
  std::int64_t k = row_ptr[i];
  for (; i < end; ++i) {
    std::int64_t const stop = row_ptr[i + 1];
    V const ax = alpha * x[i];
    V sum{};
    if (k < stop && col[k] < first_row) {
      std::int64_t const begin = k;
      while (k < stop && col[k] < first_row)
        ++k;
      sum = both_ways(val, col, x, ax, window, begin, k);
    }
    bool const on = k < stop && col[stop - 1] == i; // the diagonal
    sum = sum + both_ways(val, col, x, ax, y, k, stop - on);
    if (on)
      sum = mul_add(val[stop - 1], x[i], sum);
    k = stop;
    update(y + i, alpha, sum, beta, overwrite);
  }
}

template <class V, class I, class O>
void multiply_symmetric_rows(V alpha, std::int64_t rows, O const* row_ptr, I const* col,
                             V const* val, V const* x, V beta, V* y, plan_view const& p) {
  multiply_symmetric(std::int64_t{1}, rows, y, p,
                     [=](std::int64_t i, std::int64_t end, std::int64_t, V* window, int) {
                       symmetric_rows(alpha, row_ptr, col, val, x, beta, y, i, end, window);
                     });
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
