// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/csc.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/alike.hpp"
#include "format/detail/canonical.hpp"
#include "format/detail/check_pointers.hpp"
#include "format/detail/counting_sort.hpp"
#include "format/detail/csc_blocks.hpp"
#include "format/detail/refill.hpp"
#include "format/instantiate.hpp"

namespace tulle {

template <class V, class I, class O, space S>
void csc_view<V, I, O, S>::validate() const {
  detail::check_shape("csc", rows, cols);
  detail::check_pointers("csc: col_ptr", col_ptr, static_cast<std::size_t>(cols), nnz);
  detail::check_indices("csc: row", row, static_cast<std::size_t>(nnz), rows);
  detail::check_present("csc: val", val, static_cast<std::size_t>(nnz));
}

template <class V, class I, class O, space S>
csr<V, I, O> csc_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("csc", policy);
  cpu const& where = space.counted();
  auto const n = static_cast<std::size_t>(nnz);
  csr<V, I, O> c(unchecked, rows, cols, {}, array<I>(n, where.memory), array<V>(n, where.memory));
  c.row_ptr = detail::sort_lines(
      col_ptr, row, val, [from = val](O k) { return from[k]; }, static_cast<std::size_t>(cols),
      static_cast<std::size_t>(rows), c.col.data(), c.val.data(), where);
  return c.view().is_canonical(where) ? std::move(c) : c.to_csr(where);
}

template <class V, class I, class O>
csc<V, I, O>::csc(I rows, I cols, array<O> col_ptr, array<I> row, array<V> val)
    : csc(unchecked, rows, cols, std::move(col_ptr), std::move(row), std::move(val)) {
  validate();
}

template <class V, class I, class O>
csc<V, I, O> csc<V, I, O>::from_csr(csr_view<V, I, O> a, csc_options, cpu const& policy) {
  detail::limited const space("csc", policy);
  cpu const& where = space.counted();
  detail::canonical<V, I, O> const c(a, where);
  auto const n = static_cast<std::size_t>(c.view.nnz);
  csc b(unchecked, a.rows, a.cols, {}, array<I>(n, where.memory), array<V>(n, where.memory));
  b.col_ptr = detail::sort_lines(
      c.view.row_ptr, c.view.col, c.view.val, [from = c.view.val](O k) { return from[k]; },
      static_cast<std::size_t>(a.rows), static_cast<std::size_t>(a.cols), b.row.data(),
      b.val.data(), where);
  return b;
}

template <class V, class I, class O>
void csc<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("csc", policy);
  cpu const& where = space.counted();
  detail::check_arrays("csc", *this);
  auto const lines = static_cast<std::size_t>(rows);
  auto const columns = static_cast<std::size_t>(cols);
  if (!row.empty() && detail::come_in_groups(col_ptr.data(), row.data(), columns)) {
    detail::csc_blocks<V, I, O> blocks(lines, columns, col_ptr.data(), row.data(), where);
    return detail::refill_if(
        "csc", rows, cols, view().nnz, a, where,
        [&](csr_view<V, I, O> const& c) { return blocks.are(c); },
        [&](csr_view<V, I, O> const& c) { blocks.fill(c, val.data()); });
  }
  // Rows come in order, so a column's next entry is the next one stored: no sort, and the pattern
  // is checked on the way. Values go to other memory first, so that a refusal leaves the old ones
  // whole; to walk twice instead takes longer.
  std::size_t const n = row.size();
  int const parts = parts_for(n, where.threads, columns / 2 + (1 << 15));
  array<O> next(checked_mul(columns, static_cast<std::size_t>(parts), "refill"), where.memory);
  array<V> fresh(n, where.memory);
  auto const is_filled = [&](csr_view<V, I, O> const& c) {
    bool good = true;
    if (n != 0)
      parallel(parts, [&](int part) {
        std::size_t const first = split_by_entries(c.row_ptr, lines, part, parts);
        std::size_t const last = split_by_entries(c.row_ptr, lines, part + 1, parts);
        O* const at = next.data() + static_cast<std::size_t>(part) * columns;
        for (std::size_t j = 0; j < columns; ++j) {
          __builtin_prefetch(row.data() + col_ptr[std::min(columns, j + detail::entries_ahead)]);
          at[j] = detail::first_from(row.data(), col_ptr[j], col_ptr[j + 1], static_cast<I>(first));
        }
        bool mine = true;
        I const* const to_row = row.data();
        V* const to_val = fresh.data();
        for (std::size_t i = first; i < last && mine; ++i)
          for (auto k = static_cast<std::size_t>(c.row_ptr[i]),
                    end = static_cast<std::size_t>(c.row_ptr[i + 1]);
               k < end; ++k) {
            if (k + detail::entries_ahead < n)
              if (auto const j = static_cast<std::size_t>(c.col[k + detail::entries_ahead]);
                  j < columns) {
                O const soon = at[j];
                __builtin_prefetch(to_row + soon);
                __builtin_prefetch(to_val + soon, 1);
              }
            auto const j = static_cast<std::size_t>(c.col[k]);
            std::size_t const to = j < columns ? static_cast<std::size_t>(at[j]++) : n;
            mine = to < n && to_row[to] == static_cast<I>(i);
            if (!mine)
              break;
            to_val[to] = c.val[k];
          }
        for (std::size_t j = 0; j < columns && mine; ++j) // none went on in the next column
          mine = at[j] <= col_ptr[j + 1];
        if (!mine)
          __atomic_store_n(&good, false, __ATOMIC_RELAXED);
      });
    return good;
  };
  detail::refill_if(
      "csc", rows, cols, static_cast<O>(n), a, where, is_filled,
      [&](csr_view<V, I, O> const&) { detail::copy_values(fresh.data(), n, val.data(), where); });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(csc, basic)
