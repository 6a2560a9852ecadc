// SPDX-License-Identifier: Apache-2.0

// A^T: one plain counting sort by column.
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle::kernels::reference {

template <class V, class I, class O>
csr<V, I, O> transpose(csr_view<V, I, O> const& a, std::pmr::memory_resource* memory) {
  auto const n = static_cast<std::size_t>(a.nnz);
  csr<V, I, O> t(unchecked, a.cols, a.rows,
                 array<O>(static_cast<std::size_t>(a.cols) + 1, O(0), memory), array<I>(n, memory),
                 array<V>(n, memory));
  for (O k = 0; k < a.nnz; ++k)
    ++t.row_ptr[static_cast<std::size_t>(a.col[k]) + 1];
  for (I j = 0; j < a.cols; ++j)
    t.row_ptr[static_cast<std::size_t>(j) + 1] += t.row_ptr[j];
  array<O> next(t.row_ptr.data(), static_cast<std::size_t>(a.cols), memory);
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
      O const to = next[a.col[k]]++;
      t.col[to] = i;
      t.val[to] = a.val[k];
    }
  return t;
}

} // namespace tulle::kernels::reference
