// SPDX-License-Identifier: Apache-2.0

// Matrices place by place: each place of the result is looked up in an operand. Slow and obvious;
// submatrix, stack and kron answer to it.
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle::kernels::reference {

/// Whether A has an entry at (i, j); its value is added to v.
template <class V, class I, class O>
bool is_entry(csr_view<V, I, O> const& a, I i, I j, V& v) {
  bool found = false;
  for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
    if (a.col[k] == j) {
      v = found ? v + a.val[k] : a.val[k];
      found = true;
    }
  return found;
}

/// The matrix whose entries are where at(i, j, v) is true.
template <class V, class I, class O, class At>
csr<V, I, O> by_places(I rows, I cols, At const& at, std::pmr::memory_resource* memory) {
  csr<V, I, O> c(unchecked, rows, cols, array<O>(static_cast<std::size_t>(rows) + 1, O(0), memory),
                 {}, {});
  V v(0);
  for (I i = 0; i < rows; ++i) {
    c.row_ptr[i + 1] = c.row_ptr[i];
    for (I j = 0; j < cols; ++j)
      c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + at(i, j, v));
  }
  auto const n = static_cast<std::size_t>(c.row_ptr.back());
  c.col = array<I>(n, memory);
  c.val = array<V>(n, memory);
  std::size_t to = 0;
  for (I i = 0; i < rows; ++i)
    for (I j = 0; j < cols; ++j)
      if (at(i, j, v)) {
        c.col[to] = j;
        c.val[to++] = v;
      }
  return c;
}

} // namespace tulle::kernels::reference
