// SPDX-License-Identifier: Apache-2.0

/// ELL (ELLPACK): every row padded to the longest; the first entries of all rows, then the second
/// ones, and so on.
///
///     1 . 2 .      width = 3      row_len   2 1 1 3
///     . 3 . .      stride = 4     col       0 1 3 0   2 1 3 1   2 1 3 2
///     . . . 4                     val       1 3 4 5   2 0 0 6   0 0 0 7
///     5 6 7 .
///
/// Good for   rows of one length, as in grids and lattices: one lane per row, no branch.
/// Bad for    one long row: every other is padded to it.
/// Space      (V + I) * width * stride + I * rows.
/// From       Liu, thesis 2015, sec. 5.2.2; Kirk & Hwu, Programming Massively Parallel Processors,
/// sec. 10.3.
///
/// Padding has the value 0 and a column that exists, the last of its row, so that a kernel may
/// multiply it without a branch; row_len, which the multiplication does not read, tells it from
/// stored zeros.
///
/// Invariants (validate() checks all of them)
///   stride >= rows; entry s of row i is col[s * stride + i], val[s * stride + i]
///   0 <= row_len[i] <= width; together nnz
///   columns ascend within a row; padding, and what lies between rows and stride, has val 0
///   0 <= col[k] < cols everywhere
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct ell_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;                  ///< without padding
  I width = 0;                ///< entries of a row, padding included
  std::size_t stride = 0;     ///< from an entry of a row to its next
  I const* row_len = nullptr; ///< rows
  I const* col = nullptr;     ///< width * stride
  V const* val = nullptr;     ///< width * stride
  std::uint64_t serial = 0;   ///< of the owner's pattern; 0: borrowed arrays

  ell_view() = default;
  ell_view(unchecked_t, I rows_, I cols_, O nnz_, I width_, std::size_t stride_, I const* row_len_,
           I const* col_, V const* val_)
      : rows(rows_), cols(cols_), nnz(nnz_), width(width_), stride(stride_), row_len(row_len_),
        col(col_), val(val_) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(width * stride).
  ell_view(I rows, I cols, I width, std::size_t stride, std::span<I const> row_len,
           std::span<I const> col, std::span<V const> val) requires(S == space::host);

  std::size_t stored() const { return static_cast<std::size_t>(width) * stride; }
  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("row_len", row_len, static_cast<std::size_t>(rows));
    f("col", col, stored());
    f("val", val, stored());
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

struct ell_options {
  double limit = 8; ///< times the bytes of csr, above which a matrix is refused

  template <class F>
  void fields(F&& f) {
    f("limit", limit);
  }
};

template <class V, class I = std::int32_t, class O = I>
struct ell {
  using options = ell_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  I width = 0;
  std::size_t stride = 0;
  array<I> row_len;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  ell() = default;
  /// Takes arrays over after checking every invariant.
  ell(I rows, I cols, I width, std::size_t stride, array<I> row_len, array<I> col, array<V> val);
  ell(unchecked_t, I rows_, I cols_, O nnz_, I width_, std::size_t stride_, array<I> row_len_,
      array<I> col_, array<V> val_)
      : rows(rows_), cols(cols_), nnz(nnz_), width(width_), stride(stride_),
        row_len(std::move(row_len_)), col(std::move(col_)), val(std::move(val_)) {}

  static ell from_csr(csr_view<V, I, O> a, ell_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  ell_view<V, I, O> view() const& {
    return detail::numbered(ell_view<V, I, O>{unchecked, rows, cols, nnz, width, stride,
                                              row_len.data(), col.data(), val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row_len, m.col, m.val);
  }
  friend bool operator==(ell const&, ell const&) = default;
};

} // namespace tulle
