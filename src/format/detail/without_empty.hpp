// SPDX-License-Identifier: Apache-2.0

/// Matrices with far more rows or columns than entries, made small: what costs memory by row then
/// costs it by entry.
#pragma once
#include "tulle/format/coo.hpp"

#include <algorithm>

namespace tulle::detail {

/// The matrix without what holds no entry: row i and column i of the outcome are row and column
/// label[i] of a, for the indices that its rows or columns use, ascending. So the order of entries
/// stays, and what is symmetric.
template <class V, class I, class O>
coo<V, I, O> without_empty(coo_view<V, I, O> a, array<I>& label, cpu const& where) {
  auto const n = static_cast<std::size_t>(a.nnz);
  array<I> used(checked_mul(n, 2), where.memory);
  std::copy_n(a.row, n, used.data());
  std::copy_n(a.col, n, used.data() + n);
  std::sort(used.begin(), used.end());
  label = array<I>(used.data(),
                   static_cast<std::size_t>(std::unique(used.begin(), used.end()) - used.begin()),
                   where.memory);
  auto const place = [&](I index) {
    return static_cast<I>(std::lower_bound(label.begin(), label.end(), index) - label.begin());
  };
  coo<V, I, O> out(unchecked, place(a.rows), place(a.cols), array<I>(n, where.memory),
                   array<I>(n, where.memory), array<V>(n, where.memory));
  for (std::size_t k = 0; k < n; ++k) {
    out.row[k] = place(a.row[k]);
    out.col[k] = place(a.col[k]);
    out.val[k] = a.val[k];
  }
  return out;
}

/// The matrix that it was made of, or what was made of it since.
template <class V, class I, class O>
void restore_empty(coo<V, I, O>& a, array<I> const& label, I rows, I cols) {
  for (I& i : a.row)
    i = label[static_cast<std::size_t>(i)];
  for (I& j : a.col)
    j = label[static_cast<std::size_t>(j)];
  a.rows = rows;
  a.cols = cols;
}

} // namespace tulle::detail
