// SPDX-License-Identifier: Apache-2.0

/// SCSR, symmetric CSR: the entries on and below the diagonal of a matrix that equals its
/// transpose, row by row; each one below the diagonal stands for two.
///
///     1 . 2 .      row_ptr   0   1   2     4     6
///     . 3 . 6      col       0   1   0 2   1 3
///     2 . 4 .      val       1   3   2 4   6 5
///     . 6 . 5
///
/// Good for   symmetric matrices whose entries lie near the diagonal: half the bytes of csr.
/// Bad for    scattered entries: every thread updates all parts of y.
/// Space      (V + I) * stored + O * (rows + 1), stored about half of nnz.
/// From       Lee, Vuduc, Demmel & Yelick, ICPP 2004: one triangle, two updates per entry. Unlike
/// theirs, the order of additions does not depend on the number of threads.
///
/// Invariants (validate() checks all of them)
///   rows == cols; row_ptr[0] == 0, non-decreasing, last == stored
///   0 <= col[k] <= row of k, ascending within a row
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct scsr_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;                  ///< of the whole matrix
  O stored = 0;               ///< of the lower triangle
  O const* row_ptr = nullptr; ///< rows + 1; may be null when rows == 0
  I const* col = nullptr;     ///< stored
  V const* val = nullptr;     ///< stored
  std::uint64_t serial = 0;   ///< of the owner's pattern; 0: borrowed arrays

  scsr_view() = default;
  scsr_view(unchecked_t, I n, O nnz_, O stored_, O const* row_ptr_, I const* col_, V const* val_)
      : rows(n), cols(n), nnz(nnz_), stored(stored_), row_ptr(row_ptr_), col(col_), val(val_) {}
  /// Borrows the caller's arrays, of n rows and columns, after checking every invariant, once:
  /// O(n + stored).
  scsr_view(I n, std::span<O const> row_ptr, std::span<I const> col,
            std::span<V const> val) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("row_ptr", row_ptr, row_ptr || rows > 0 ? static_cast<std::size_t>(rows) + 1 : 0);
    f("col", col, static_cast<std::size_t>(stored));
    f("val", val, static_cast<std::size_t>(stored));
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
  /// What is stored, as a matrix of its own.
  csr_view<V, I, O, S> lower() const { return {unchecked, rows, cols, stored, row_ptr, col, val}; }
};

struct scsr_options {
  static constexpr bool needs_symmetric = true; ///< from_csr refuses what is not
};

template <class V, class I = std::int32_t, class O = I>
struct scsr {
  using options = scsr_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  array<O> row_ptr;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  scsr() = default;
  /// Takes arrays of n rows and columns over after checking every invariant.
  scsr(I n, array<O> row_ptr_, array<I> col_, array<V> val_)
      : rows(n), cols(n), row_ptr(std::move(row_ptr_)), col(std::move(col_)), val(std::move(val_)) {
    nnz = checked().nnz;
  }

  static scsr from_csr(csr_view<V, I, O> a, scsr_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern, symmetric as well.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  scsr_view<V, I, O> view() const& {
    return detail::numbered(scsr_view<V, I, O>{unchecked, rows, nnz, static_cast<O>(col.size()),
                                               row_ptr.data(), col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row_ptr, m.col, m.val);
  }
  friend bool operator==(scsr const&, scsr const&) = default;

private:
  scsr_view<V, I, O> checked() const { return {rows, row_ptr, col, val}; }
};

} // namespace tulle
