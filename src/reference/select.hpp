// SPDX-License-Identifier: Apache-2.0

// The entries of a kind: one plain loop over a canonical matrix.
#pragma once
#include "tulle/op/select.hpp"

namespace tulle::kernels::reference {

template <class V>
bool is_of_kind(select_kind kind, std::int64_t above, std::int64_t k, V v) {
  switch (kind) {
  case select_kind::lower:
    return above <= k;
  case select_kind::upper:
    return above >= k;
  case select_kind::diagonal:
    return above == k;
  case select_kind::off_diagonal:
    return above != k;
  case select_kind::nonzero:
    break;
  }
  return v != V(0);
}

template <class V, class I, class O>
csr<V, I, O> select(csr_view<V, I, O> const& a, select_kind kind, std::int64_t diagonal,
                    std::pmr::memory_resource* memory) {
  auto const is_kept = [&](I i, O k) {
    std::int64_t const above = static_cast<std::int64_t>(a.col[k]) - static_cast<std::int64_t>(i);
    return is_of_kind(kind, above, diagonal, a.val[k]);
  };
  csr<V, I, O> c(unchecked, a.rows, a.cols,
                 array<O>(static_cast<std::size_t>(a.rows) + 1, O(0), memory), {}, {});
  for (I i = 0; i < a.rows; ++i) {
    auto const row = static_cast<std::size_t>(i);
    c.row_ptr[row + 1] = c.row_ptr[row];
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      c.row_ptr[row + 1] = static_cast<O>(c.row_ptr[row + 1] + is_kept(i, k));
  }
  auto const n = static_cast<std::size_t>(c.row_ptr.back());
  c.col = array<I>(n, memory);
  c.val = array<V>(n, memory);
  std::size_t to = 0;
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      if (is_kept(i, k)) {
        c.col[to] = a.col[k];
        c.val[to++] = a.val[k];
      }
  return c;
}

} // namespace tulle::kernels::reference
