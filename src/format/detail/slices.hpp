// SPDX-License-Identifier: Apache-2.0

/// The slices of scoo, one by one.
#pragma once
#include "tulle/format/scoo.hpp"

#include "format/detail/copy.hpp"

#include <algorithm>

namespace tulle::detail {

/// f(s) for each slice, in parallel.
template <class View, class F>
void each_slice(View const& a, cpu const& where, F&& f) {
  if (a.nnz == 0)
    return;
  int const parts = parts_for(static_cast<std::size_t>(a.nnz), where.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(a.slice_ptr, a.slices(), part + 1, parts);
    for (std::size_t s = split_by_entries(a.slice_ptr, a.slices(), part, parts); s < end; ++s)
      f(s);
  });
}

/// f(k, position in csr) for each entry of slice s, in the order stored; row_ptr is that of csr.
/// Returns whether its rows are as long as there; where not, positions lead outside of them.
template <class View, class O, class F>
bool walk_slice(View const& a, std::size_t s, O const* row_ptr, F&& f) {
  auto const h = static_cast<std::size_t>(a.height);
  std::size_t const rows = std::min(h, static_cast<std::size_t>(a.rows) - s * h);
  O next[most_slice_rows];
  std::copy_n(row_ptr + s * h, rows, next);
  for (O k = a.slice_ptr[s]; k < a.slice_ptr[s + 1]; ++k)
    f(k, next[a.row[k]]++);
  return same(next, row_ptr + s * h + 1, rows);
}

inline void check_slice_rows(scoo_options const& o) {
  if (o.rows < 1 || o.rows > most_slice_rows)
    fail(errc::unsupported, "scoo: option rows is %d, expected 1 to %d", o.rows, most_slice_rows);
}

} // namespace tulle::detail
