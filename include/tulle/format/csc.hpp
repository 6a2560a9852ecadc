// SPDX-License-Identifier: Apache-2.0

/// CSC, compressed sparse columns: CSR of the transpose.
///
///     1 . 2 .      col_ptr   0     2     4     6   7
///     . 3 . .      row       0 3   1 3   0 3   2
///     . . . 4      val       1 5   3 6   2 7   4
///     5 6 7 .
///
/// Good for   products with the transpose; sparse vectors; taking columns.
/// Bad for    y = A x: every entry updates another element of y.
/// Space      (V + I) * nnz + O * (cols + 1).
/// From       Liu, thesis 2015, sec. 9.3.1.
///
/// Invariants (validate() checks all of them)
///   col_ptr[0] == 0, non-decreasing, last == nnz
///   0 <= row[k] < rows; any order within a column, duplicates mean their sum
#pragma once
#include "tulle/format/csr.hpp"

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
  csc_view(unchecked_t, I rows_, I cols_, O nnz_, O const* col_ptr_, I const* row_, V const* val_)
      : rows(rows_), cols(cols_), nnz(nnz_), col_ptr(col_ptr_), row(row_), val(val_) {}
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
  /// The same for pointers, with the number of entries given.
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
  csc(unchecked_t, I rows_, I cols_, array<O> col_ptr_, array<I> row_, array<V> val_)
      : rows(rows_), cols(cols_), col_ptr(std::move(col_ptr_)), row(std::move(row_)),
        val(std::move(val_)) {}

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

} // namespace tulle
