// SPDX-License-Identifier: Apache-2.0

/// COO, coordinates: row, column and value of each entry.
///
///     1 . 2 .      row   0 0 1 2 3 3 3
///     . 3 . .      col   0 2 1 3 0 1 2
///     . . . 4      val   1 2 3 4 5 6 7
///     5 6 7 .
///
/// Good for   building a matrix; mostly empty rows, which cost nothing; splitting anywhere.
/// Bad for    everything else: a second index for each entry.
/// Space      (V + 2 I) * nnz.
/// From       Liu, thesis 2015, sec. 5.2.3; Kirk & Hwu, Programming Massively Parallel Processors,
/// sec. 10.4.
///
/// Invariants (validate() checks all of them)
///   0 <= row[k] < rows, 0 <= col[k] < cols; any order, duplicates mean their sum
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct coo_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  I const* row = nullptr;   ///< nnz
  I const* col = nullptr;   ///< nnz
  V const* val = nullptr;   ///< nnz
  std::uint64_t serial = 0; ///< of the owner's pattern; 0: borrowed arrays

  coo_view() = default;
  coo_view(unchecked_t, I rows_, I cols_, O nnz_, I const* row_, I const* col_, V const* val_)
      : rows(rows_), cols(cols_), nnz(nnz_), row(row_), col(col_), val(val_) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(nnz).
  /// Arrays as csr_view takes them; one of them at least must have a size.
  template <std::integral R, std::integral C>
  coo_view(R row_count, C col_count, detail::lent<I> row_indices, detail::lent<I> col_indices,
           detail::lent<V> values) requires(S == space::host)
      : rows(narrow<I>(row_count, "coo: the number of rows")),
        cols(narrow<I>(col_count, "coo: the number of columns")),
        nnz(detail::lent_triplets<O>(row_indices, col_indices, values)), row(row_indices.data()),
        col(col_indices.data()), val(values.data()) {
    validate();
  }
  /// The same for pointers, with the number of entries given.
  template <std::integral R, std::integral C, std::integral N>
  coo_view(R row_count, C col_count, N entries, detail::lent<I> row_indices,
           detail::lent<I> col_indices, detail::lent<V> values) requires(S == space::host)
      : coo_view(row_count, col_count, row_indices.of(entries), col_indices.of(entries),
                 values.of(entries)) {}

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("row", row, static_cast<std::size_t>(nnz));
    f("col", col, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  void validate(cpu const& where = {}) const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

template <class R, class C, detail::lends_array P, detail::lends_array J, detail::lends_array W>
coo_view(R, C, P const&, J const&, W const&)
    -> coo_view<detail::lent_element<W>, detail::lent_index<J>>;
template <class R, class C, class N, detail::lends_array P, detail::lends_array J,
          detail::lends_array W>
coo_view(R, C, N, P const&, J const&, W const&)
    -> coo_view<detail::lent_element<W>, detail::lent_index<J>>;

struct coo_options {};

template <class V, class I = std::int32_t, class O = I>
struct coo {
  using options = coo_options;

  I rows = 0;
  I cols = 0;
  array<I> row;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  coo() = default;
  /// Takes arrays over after checking every invariant.
  coo(I rows, I cols, array<I> row, array<I> col, array<V> val);
  coo(unchecked_t, I rows_, I cols_, array<I> row_, array<I> col_, array<V> val_)
      : rows(rows_), cols(cols_), row(std::move(row_)), col(std::move(col_)), val(std::move(val_)) {
  }

  static coo from_csr(csr_view<V, I, O> a, coo_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  coo_view<V, I, O> view() const& {
    return detail::numbered(coo_view<V, I, O>{unchecked, rows, cols, static_cast<O>(val.size()),
                                              row.data(), col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const { coo_view<V, I, O>(rows, cols, row, col, val); }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row, m.col, m.val);
  }
  friend bool operator==(coo const&, coo const&) = default;
};

} // namespace tulle
