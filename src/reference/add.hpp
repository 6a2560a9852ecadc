// SPDX-License-Identifier: Apache-2.0

// C = alpha A + beta B of canonical A and B: one plain merge a row. D = alpha A + beta D.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/view/dense.hpp"

namespace tulle::kernels::reference {

/// Calls f(column, k, l) for each place of a row of C, k and l the entries of A and B there, or -1.
template <class V, class I, class O, class F>
void merge_row(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, I i, F&& f) {
  O k = a.row_ptr[i];
  O l = b.row_ptr[i];
  while (k < a.row_ptr[i + 1] || l < b.row_ptr[i + 1]) {
    bool const from_a = k < a.row_ptr[i + 1] && (l == b.row_ptr[i + 1] || a.col[k] <= b.col[l]);
    bool const from_b = l < b.row_ptr[i + 1] && (k == a.row_ptr[i + 1] || b.col[l] <= a.col[k]);
    f(from_a ? a.col[k] : b.col[l], from_a ? k : O(-1), from_b ? l : O(-1));
    k += from_a;
    l += from_b;
  }
}

template <class V, class I, class O>
csr<V, I, O> add(V alpha, csr_view<V, I, O> const& a, V beta, csr_view<V, I, O> const& b,
                 std::pmr::memory_resource* memory) {
  std::size_t n = 0;
  for (I i = 0; i < a.rows; ++i)
    merge_row(a, b, i, [&](I, O, O) { ++n; });
  narrow<O>(n, "add: number of entries");
  csr<V, I, O> c(unchecked, a.rows, a.cols,
                 array<O>(static_cast<std::size_t>(a.rows) + 1, O(0), memory), array<I>(n, memory),
                 array<V>(n, memory));
  O at = 0;
  for (I i = 0; i < a.rows; ++i) {
    merge_row(a, b, i, [&](I j, O k, O l) {
      V const of_a = k < 0 || alpha == V(0) ? V(0) : alpha * a.val[k];
      V const of_b = l < 0 || beta == V(0) ? V(0) : beta * b.val[l];
      c.col[at] = j;
      c.val[at] = k < 0 ? of_b : l < 0 ? of_a : of_a + of_b;
      ++at;
    });
    c.row_ptr[static_cast<std::size_t>(i) + 1] = at;
  }
  return c;
}

template <class V, class I, class O>
void add(V alpha, csr_view<V, I, O> const& a, V beta, dense_view<V> d) {
  for (std::size_t i = 0; i < d.rows; ++i) {
    for (std::size_t j = 0; j < d.cols; ++j)
      d(i, j) = beta == V(0) ? V(0) : beta * d(i, j);
    if (alpha != V(0))
      for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        d(i, static_cast<std::size_t>(a.col[k])) += alpha * a.val[k];
  }
}

} // namespace tulle::kernels::reference
