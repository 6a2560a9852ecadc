// SPDX-License-Identifier: Apache-2.0

// C = A B of canonical A and B: Gustavson's loop with a dense accumulator, twice.
#pragma once
#include "tulle/format/csr.hpp"

#include <algorithm>
#include <complex>

namespace tulle::kernels::reference {

template <class V>
V times(V a, V b) {
  return a * b;
}
/// Without the library's second look at NaN.
template <class R>
std::complex<R> times(std::complex<R> a, std::complex<R> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// f(column, product) for each product of row i, in the order in which they are added.
template <class V, class I, class O, class F>
void products_of_row(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, I i, F&& f) {
  for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
    for (O p = b.row_ptr[a.col[k]]; p < b.row_ptr[a.col[k] + 1]; ++p)
      f(static_cast<std::size_t>(b.col[p]), times(a.val[k], b.val[p]));
}

template <class V, class I, class O>
csr<V, I, O> spgemm(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b,
                    std::pmr::memory_resource* memory) {
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(b.cols);
  array<I> seen(cols, I(-1), memory); // the last row that had an entry in this column
  std::size_t n = 0;
  for (I i = 0; i < a.rows; ++i)
    products_of_row(a, b, i, [&](std::size_t j, V) {
      n += seen[j] != i;
      seen[j] = i;
    });
  narrow<O>(n, "spgemm: number of entries");
  csr<V, I, O> c(unchecked, a.rows, b.cols, array<O>(rows + 1, O(0), memory), array<I>(n, memory),
                 array<V>(n, memory));
  array<V> sum(cols, memory);
  std::fill(seen.begin(), seen.end(), I(-1));
  std::size_t at = 0;
  for (I i = 0; i < a.rows; ++i) {
    std::size_t const first = at;
    products_of_row(a, b, i, [&](std::size_t j, V term) {
      if (seen[j] != i)
        c.col[at++] = static_cast<I>(j);
      sum[j] = seen[j] == i ? sum[j] + term : term;
      seen[j] = i;
    });
    std::sort(c.col.data() + first, c.col.data() + at);
    for (std::size_t q = first; q < at; ++q)
      c.val[q] = sum[static_cast<std::size_t>(c.col[q])];
    c.row_ptr[static_cast<std::size_t>(i) + 1] = static_cast<O>(at);
  }
  return c;
}

} // namespace tulle::kernels::reference
