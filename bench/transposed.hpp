// SPDX-License-Identifier: Apache-2.0

/// A^T by the loop of the textbook: an operand, and what others are held to.
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle::bench {

template <class V, class I>
csr<V, I, I> transposed(csr_view<V, I, I> a) {
  auto const cols = static_cast<std::size_t>(a.cols);
  auto const nnz = static_cast<std::size_t>(a.nnz);
  csr<V, I, I> t(unchecked, a.cols, a.rows, array<I>(cols + 1, I(0)), array<I>(nnz), array<V>(nnz));
  for (I k = 0; k < a.nnz; ++k)
    ++t.row_ptr[static_cast<std::size_t>(a.col[k]) + 1];
  for (std::size_t j = 0; j < cols; ++j)
    t.row_ptr[j + 1] = static_cast<I>(t.row_ptr[j + 1] + t.row_ptr[j]);
  array<I> next = t.row_ptr;
  for (I i = 0; i < a.rows; ++i)
    for (I k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
      auto const at = static_cast<std::size_t>(next[static_cast<std::size_t>(a.col[k])]++);
      t.col[at] = i;
      t.val[at] = a.val[k];
    }
  return t;
}

} // namespace tulle::bench
