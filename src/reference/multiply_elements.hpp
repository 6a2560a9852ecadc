// SPDX-License-Identifier: Apache-2.0

// C = A .* B of canonical matrices: for each entry of A, a search through B's row.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/view/dense.hpp"

namespace tulle::kernels::reference {

/// found(i, k, l) for each entry k of A in row i whose place entry l of B has.
template <class V, class I, class O, class Found>
void each_common(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b, Found found) {
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      for (O l = b.row_ptr[i]; l < b.row_ptr[i + 1]; ++l)
        if (a.col[k] == b.col[l])
          found(i, k, l);
}

template <class V, class I, class O>
csr<V, I, O> multiply_elements(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b,
                               std::pmr::memory_resource* memory) {
  csr<V, I, O> c(unchecked, a.rows, a.cols,
                 array<O>(static_cast<std::size_t>(a.rows) + 1, O(0), memory), {}, {});
  each_common(a, b, [&](I i, O, O) { ++c.row_ptr[i + 1]; });
  for (I i = 0; i < a.rows; ++i)
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + c.row_ptr[i]);
  auto const n = static_cast<std::size_t>(c.row_ptr.back());
  c.col = array<I>(n, memory);
  c.val = array<V>(n, memory);
  std::size_t to = 0;
  each_common(a, b, [&](I, O k, O l) {
    c.col[to] = a.col[k];
    c.val[to++] = a.val[k] * b.val[l];
  });
  return c;
}

template <class V, class I, class O>
void multiply_elements(csr_view<V, I, O> const& a, dense_view<V const> b, V* to) {
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      to[k] = a.val[k] * b(static_cast<std::size_t>(i), static_cast<std::size_t>(a.col[k]));
}

} // namespace tulle::kernels::reference
