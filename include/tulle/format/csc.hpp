// SPDX-License-Identifier: Apache-2.0

/// CSC, compressed sparse columns: CSR of the transpose.
///
///     1 . 2 .      col_ptr   0     2     4     6   7
///     . 3 . .      row       0 3   1 3   0 3   2
///     . . . 4      val       1 5   3 6   2 7   4
///     5 6 7 .
///
/// Good for   products with the transpose; sparse vectors; taking columns.
/// Bad for    y = A x: every entry adds to another y.
/// Space      (V + I) * nnz + O * (cols + 1).
/// From       Liu, thesis 2015, sec. 9.3.1.
///
/// Invariants (validate() checks all of them)
///   col_ptr[0] == 0, non-decreasing, last == nnz
///   0 <= row[k] < rows; any order within a column, duplicates mean their sum
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/format/detail/counting_sort.hpp"
#include "tulle/format/detail/csc_blocks.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct csc_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  O const* col_ptr = nullptr; ///< cols + 1; may be null when cols == 0
  I const* row = nullptr;     ///< nnz
  V const* val = nullptr;     ///< nnz
  std::uint64_t serial = 0;   ///< of the owner's pattern; 0: borrowed arrays

  csc_view() = default;
  csc_view(unchecked_t, I rows, I cols, O nnz, O const* col_ptr, I const* row, V const* val)
      : rows(rows), cols(cols), nnz(nnz), col_ptr(col_ptr), row(row), val(val) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(cols + nnz).
  /// Arrays as csr_view takes them.
  template <std::integral R, std::integral C>
  csc_view(R row_count, C col_count, detail::lent<O> pointers, detail::lent<I> indices,
           detail::lent<V> values) requires(S == space::host)
      : rows(narrow<I>(row_count, "csc: the number of rows")),
        cols(narrow<I>(col_count, "csc: the number of columns")),
        nnz(detail::lent_entries<O>("csc", rows, cols, cols, pointers, indices, values)),
        col_ptr(pointers.data()), row(indices.data()), val(values.data()) {
    validate();
  }
  /// The same of so many entries, for pointers.
  template <std::integral R, std::integral C, std::integral N>
  csc_view(R row_count, C col_count, N entries, detail::lent<O> pointers, detail::lent<I> indices,
           detail::lent<V> values) requires(S == space::host)
      : csc_view(row_count, col_count, pointers, indices.of(entries), values.of(entries)) {}

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("col_ptr", col_ptr, col_ptr || cols > 0 ? static_cast<std::size_t>(cols) + 1 : 0);
    f("row", row, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

template <class R, class C, detail::lends_array P, detail::lends_array J, detail::lends_array W>
csc_view(R, C, P const&, J const&, W const&)
    -> csc_view<detail::lent_element<W>, detail::lent_index<J>, detail::lent_index<P>>;
template <class R, class C, class N, detail::lends_array P, detail::lends_array J,
          detail::lends_array W>
csc_view(R, C, N, P const&, J const&, W const&)
    -> csc_view<detail::lent_element<W>, detail::lent_index<J>, detail::lent_index<P>>;

struct csc_options {};

template <class V, class I = std::int32_t, class O = I>
struct csc {
  using options = csc_options;

  I rows = 0;
  I cols = 0;
  array<O> col_ptr;
  array<I> row;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  csc() = default;
  /// Takes arrays over after checking every invariant.
  csc(I rows, I cols, array<O> col_ptr, array<I> row, array<V> val);
  csc(unchecked_t, I rows, I cols, array<O> col_ptr, array<I> row, array<V> val)
      : rows(rows), cols(cols), col_ptr(std::move(col_ptr)), row(std::move(row)),
        val(std::move(val)) {}

  static csc from_csr(csr_view<V, I, O> a, csc_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  csc_view<V, I, O> view() const& {
    return detail::numbered(csc_view<V, I, O>{unchecked, rows, cols, static_cast<O>(row.size()),
                                              col_ptr.data(), row.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const { csc_view<V, I, O>(rows, cols, col_ptr, row, val); }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.col_ptr, m.row, m.val);
  }
  friend bool operator==(csc const&, csc const&) = default;
};

template <class V, class I, class O, space S>
void csc_view<V, I, O, S>::validate() const {
  detail::check_shape("csc", rows, cols);
  detail::check_pointers("csc: col_ptr", col_ptr, static_cast<std::size_t>(cols), nnz);
  detail::check_indices("csc: row", row, static_cast<std::size_t>(nnz), rows);
  detail::check_present("csc: val", val, static_cast<std::size_t>(nnz));
}

template <class V, class I, class O, space S>
csr<V, I, O> csc_view<V, I, O, S>::to_csr(cpu const& where) const {
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
csc<V, I, O> csc<V, I, O>::from_csr(csr_view<V, I, O> a, csc_options, cpu const& where) {
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
void csc<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
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
  int const parts = detail::parts_for(n, where.threads, columns / 2 + (1 << 15));
  array<O> next(checked_mul(columns, static_cast<std::size_t>(parts), "refill"), where.memory);
  array<V> fresh(n, where.memory);
  auto const is_filled = [&](csr_view<V, I, O> const& c) {
    bool good = true;
    if (n != 0)
      detail::parallel(parts, [&](int part) {
        std::size_t const first = detail::split_by_entries(c.row_ptr, lines, part, parts);
        std::size_t const last = detail::split_by_entries(c.row_ptr, lines, part + 1, parts);
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
