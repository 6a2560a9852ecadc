// SPDX-License-Identifier: Apache-2.0

/// The canonical form of a csr: rows sorted, duplicates summed.
#pragma once
#include "tulle/format/csr.hpp"

#include <algorithm>

namespace tulle::detail {

/// A view of the canonical form of a: of a itself where that is canonical, of a sorted copy where
/// it is not. Conversions start here, so that a format sees canonical rows only.
template <class V, class I, class O>
struct canonical {
  csr<V, I, O> copy;
  csr_view<V, I, O> view;

  canonical(csr_view<V, I, O> a, cpu const& where) : view(a) {
    a.validate(where);
    if (!a.is_canonical(where)) {
      copy = a.to_csr(where);
      view = copy.view();
    }
  }
};

/// Sorts each row of a by (column, position) in scratch of its own length, and adds up equal
/// columns in place of the row. c has room for all entries: row i stays where it was in a, and
/// c.row_ptr says how many are left.
template <class V, class I, class O>
void sort_rows(csr_view<V, I, O> const& a, csr<V, I, O>& c, cpu const& where) {
  auto const n = static_cast<std::size_t>(a.rows);
  auto const* const row_ptr = a.row_ptr;
  auto const* const col = a.col;
  auto const* const val = a.val;
  int const parts = parts_for(static_cast<std::size_t>(a.nnz) + n, where.threads);
  O longest = 0;
  for (std::size_t i = 0; i < n; ++i)
    longest = std::max<O>(longest, row_ptr[i + 1] - row_ptr[i]);
  array<O> order(static_cast<std::size_t>(longest) * static_cast<std::size_t>(parts), where.memory);
  c.row_ptr[0] = 0;
  parallel(parts, [&](int part) {
    O* const scratch =
        order.data() + static_cast<std::size_t>(part) * static_cast<std::size_t>(longest);
    std::size_t const end = split_by_entries(row_ptr, n, part + 1, parts);
    for (std::size_t i = split_by_entries(row_ptr, n, part, parts); i < end; ++i) {
      O const first = row_ptr[i];
      O const length = row_ptr[i + 1] - first;
      for (O k = 0; k < length; ++k)
        scratch[k] = static_cast<O>(first + k);
      std::sort(scratch, scratch + length,
                [&](O p, O q) { return col[p] != col[q] ? col[p] < col[q] : p < q; });
      O at = first;
      for (O k = 0; k < length; ++k) {
        I const j = col[scratch[k]];
        V const v = val[scratch[k]];
        if (at != first && c.col[at - 1] == j) {
          c.val[at - 1] += v;
        } else {
          c.col[at] = j;
          c.val[at] = v;
          ++at;
        }
      }
      c.row_ptr[i + 1] = static_cast<O>(at - first);
    }
  });
  for (std::size_t i = 0; i < n; ++i)
    c.row_ptr[i + 1] = static_cast<O>(c.row_ptr[i + 1] + c.row_ptr[i]);
}

} // namespace tulle::detail
