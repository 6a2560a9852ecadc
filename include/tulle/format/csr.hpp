// SPDX-License-Identifier: Apache-2.0

/// CSR, compressed sparse rows: the entries row by row, and where each row begins. The hub of all
/// conversions.
///
///     1 . 2 .      row_ptr   0     2   3   4       7
///     . 3 . .      col       0 2   1   3   0 1 2
///     . . . 4      val       1 2   3   4   5 6 7
///     5 6 7 .
///
/// Good for   general use; every library reads it.
/// Bad for    short rows on wide SIMD; 4 bytes of index for 8 of value are a third of the traffic.
/// Space      (V + I) * nnz + O * (rows + 1).
/// From       Liu, thesis 2015, sec. 5.2.4; Kirk & Hwu, Programming Massively Parallel Processors,
/// sec. 10.1.
///
/// Invariants (validate() checks all of them)
///   row_ptr[0] == 0, non-decreasing, last == nnz
///   0 <= col[k] < cols; any order within a row, duplicates mean their sum
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/serial.hpp"
#include "tulle/core/space.hpp"
#include "tulle/core/where.hpp"
#include "tulle/format/detail/arrays.hpp"
#include "tulle/format/detail/lent.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>

namespace tulle {

/// A tag for arrays that are known to be valid: they are not checked.
struct unchecked_t {};
inline constexpr unchecked_t unchecked{};

template <class V, class I, class O>
struct csr;

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct csr_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  O const* row_ptr = nullptr; ///< rows + 1; may be null when rows == 0
  I const* col = nullptr;     ///< nnz
  V const* val = nullptr;     ///< nnz
  std::uint64_t serial = 0;   ///< of the owner's pattern; 0: borrowed arrays

  csr_view() = default;
  csr_view(unchecked_t, I rows_, I cols_, O nnz_, O const* row_ptr_, I const* col_, V const* val_)
      : rows(rows_), cols(cols_), nnz(nnz_), row_ptr(row_ptr_), col(col_), val(val_) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz). An array is a
  /// container, a span, a C array or a pointer (row_ptr then says how many entries there are), and
  /// its integers may be of another type of the same width; csr_from() copies others. A temporary
  /// is refused.
  template <std::integral R, std::integral C>
  csr_view(R row_count, C col_count, detail::lent<O> pointers, detail::lent<I> indices,
           detail::lent<V> values) requires(S == space::host)
      : rows(narrow<I>(row_count, "csr: the number of rows")),
        cols(narrow<I>(col_count, "csr: the number of columns")),
        nnz(detail::lent_entries<O>("csr", rows, cols, rows, pointers, indices, values)),
        row_ptr(pointers.data()), col(indices.data()), val(values.data()) {
    validate();
  }
  /// The same for pointers, with the number of entries given.
  template <std::integral R, std::integral C, std::integral N>
  csr_view(R row_count, C col_count, N entries, detail::lent<O> pointers, detail::lent<I> indices,
           detail::lent<V> values) requires(S == space::host)
      : csr_view(row_count, col_count, pointers, indices.of(entries), values.of(entries)) {}
  /// The view of an owner, as its view() returns it.
  csr_view(csr<V, I, O> const& a) requires(S == space::host);
  csr_view(csr<V, I, O> const&& a) requires(S == space::host) = delete;

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("row_ptr", row_ptr, row_ptr || rows > 0 ? static_cast<std::size_t>(rows) + 1 : 0);
    f("col", col, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  /// Throws errc::bad_structure naming the first broken invariant.
  void validate(cpu const& where = {}) const;
  /// Rows sorted, no duplicates.
  bool is_canonical(cpu const& where = {}) const;
  /// The same matrix with rows sorted and duplicates summed in the order they were stored.
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

/// Deduces the types from the caller's arrays; integers become the built type of the same width.
template <class R, class C, detail::lends_array P, detail::lends_array J, detail::lends_array W>
csr_view(R, C, P const&, J const&, W const&)
    -> csr_view<detail::lent_element<W>, detail::lent_index<J>, detail::lent_index<P>>;
template <class R, class C, class N, detail::lends_array P, detail::lends_array J,
          detail::lends_array W>
csr_view(R, C, N, P const&, J const&, W const&)
    -> csr_view<detail::lent_element<W>, detail::lent_index<J>, detail::lent_index<P>>;

struct csr_options {};

template <class V, class I = std::int32_t, class O = I>
struct csr {
  using options = csr_options;

  I rows = 0;
  I cols = 0;
  array<O> row_ptr;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  csr() = default;
  /// Takes arrays over after checking every invariant.
  csr(I rows, I cols, array<O> row_ptr, array<I> col, array<V> val);
  csr(unchecked_t, I rows_, I cols_, array<O> row_ptr_, array<I> col_, array<V> val_)
      : rows(rows_), cols(cols_), row_ptr(std::move(row_ptr_)), col(std::move(col_)),
        val(std::move(val_)) {}

  static csr from_csr(csr_view<V, I, O> a, csr_options = {}, cpu const& where = {});
  csr to_csr(cpu const& where = {}) const { return detail::checked(*this, where).to_csr(where); }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  csr_view<V, I, O> view() const& {
    return detail::numbered(csr_view<V, I, O>{unchecked, rows, cols, static_cast<O>(col.size()),
                                              row_ptr.data(), col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate(cpu const& where = {}) const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row_ptr, m.col, m.val);
  }
  friend bool operator==(csr const&, csr const&) = default;
};

} // namespace tulle
