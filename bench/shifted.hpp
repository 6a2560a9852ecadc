// SPDX-License-Identifier: Apache-2.0

/// A matrix that shares part of its pattern with another.
#pragma once
#include "tulle/format/csr.hpp"

#include <algorithm>

namespace tulle::bench {

/// A with every column one further to the right, the last one first: of a stencil or a matrix of
/// blocks some places stay the same, and rows stay sorted.
template <class V, class I>
csr<V, I, I> shifted(csr_view<V, I, I> a) {
  csr<V, I, I> b = a.to_csr();
  for (std::size_t i = 0; i < static_cast<std::size_t>(b.rows); ++i) {
    I* const col = b.col.data() + b.row_ptr[i];
    I const n = static_cast<I>(b.row_ptr[i + 1] - b.row_ptr[i]);
    for (I k = 0; k < n; ++k)
      col[k] = col[k] == b.cols - 1 ? 0 : static_cast<I>(col[k] + 1);
    if (n > 0 && col[n - 1] == 0) {
      V* const val = b.val.data() + b.row_ptr[i];
      std::rotate(col, col + n - 1, col + n);
      std::rotate(val, val + n - 1, val + n);
    }
  }
  return b;
}

/// The same matrix: libraries differ in whether zeros that come out are stored.
template <class V, class I>
csr<V, I, I> without_zeros(csr<V, I, I> a) {
  a.validate();
  std::size_t at = 0;
  std::size_t k = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i) {
    for (auto const end = static_cast<std::size_t>(a.row_ptr[i + 1]); k < end; ++k)
      if (a.val[k] != V(0)) {
        a.col[at] = a.col[k];
        a.val[at++] = a.val[k];
      }
    a.row_ptr[i + 1] = static_cast<I>(at);
  }
  a.col = array<I>(a.col.data(), at);
  a.val = array<V>(a.val.data(), at);
  return a;
}

} // namespace tulle::bench
