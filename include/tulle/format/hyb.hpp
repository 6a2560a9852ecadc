// SPDX-License-Identifier: Apache-2.0

/// HYB, ell and coo: the first entries of each row, up to a width, as ell; the rest as coo.
///
///     1 . 2 .      width = 2      row_len   2 1 1 2              coo_row   3
///     . 3 . .      stride = 4     col       0 1 3 0   2 1 3 1    coo_col   2
///     . . . 4                     val       1 3 4 5   2 0 0 6    coo_val   7
///     5 6 7 .
///
/// Good for   rows of about one length and some long ones.
/// Bad for    lengths that spread over orders of magnitude: most entries are coo.
/// Space      (V + I) * width * stride + I * rows + (V + 2 I) * rest.
/// From       Liu, thesis 2015, sec. 5.3.1; Kirk & Hwu, Programming Massively Parallel Processors,
/// sec. 10.4; the width by Bell & Garland, SC 2009.
///
/// The width is the largest that a third of the rows reach: an entry in ell is taken to be three
/// times as fast as one in coo, so a column of ell pays off from a third full on. Padding is as in
/// ell.
///
/// Invariants (validate() checks all of them)
///   row_len, col and val are an ell
///   coo_row and coo_col ascend together, 0 <= coo_row[k] < rows, 0 <= coo_col[k] < cols
///   an entry of coo follows the last in ell of its row, and that row is full in ell
#pragma once
#include "tulle/format/coo.hpp"
#include "tulle/format/ell.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct hyb_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;                  ///< in both parts, without padding
  I width = 0;                ///< of the ell
  std::size_t stride = 0;     ///< of the ell
  O rest = 0;                 ///< entries of the coo
  I const* row_len = nullptr; ///< rows: in the ell
  I const* col = nullptr;     ///< width * stride
  V const* val = nullptr;     ///< width * stride
  I const* coo_row = nullptr; ///< rest
  I const* coo_col = nullptr; ///< rest
  V const* coo_val = nullptr; ///< rest
  std::uint64_t serial = 0;   ///< of the owner's pattern; 0: borrowed arrays

  hyb_view() = default;
  hyb_view(unchecked_t, ell_view<V, I, O, S> const& regular, coo_view<V, I, O, S> const& others)
      : rows(regular.rows), cols(regular.cols), width(regular.width), stride(regular.stride),
        rest(others.nnz), row_len(regular.row_len), col(regular.col), val(regular.val),
        coo_row(others.row), coo_col(others.col), coo_val(others.val) {
    using unsigned_t = std::make_unsigned_t<O>; // the counts of a broken owner may be any
    nnz =
        static_cast<O>(static_cast<unsigned_t>(regular.nnz) + static_cast<unsigned_t>(others.nnz));
  }
  /// Borrows the caller's arrays after checking every invariant, once: O(width * stride + rest).
  hyb_view(I rows, I cols, I width, std::size_t stride, std::span<I const> row_len,
           std::span<I const> col, std::span<V const> val, std::span<I const> coo_row,
           std::span<I const> coo_col, std::span<V const> coo_val) requires(S == space::host);

  /// The two parts.
  ell_view<V, I, O, S> regular() const {
    using unsigned_t = std::make_unsigned_t<O>; // a broken owner may have any
    auto const n = static_cast<O>(static_cast<unsigned_t>(nnz) - static_cast<unsigned_t>(rest));
    return {unchecked, rows, cols, n, width, stride, row_len, col, val};
  }
  coo_view<V, I, O, S> others() const {
    return {unchecked, rows, cols, rest, coo_row, coo_col, coo_val};
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    std::size_t const stored = regular().stored();
    f("row_len", row_len, static_cast<std::size_t>(rows));
    f("col", col, stored);
    f("val", val, stored);
    f("coo_row", coo_row, static_cast<std::size_t>(rest));
    f("coo_col", coo_col, static_cast<std::size_t>(rest));
    f("coo_val", coo_val, static_cast<std::size_t>(rest));
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

struct hyb_options {
  int width = 0;    ///< of the ell; 0: by the lengths of the rows
  double limit = 8; ///< times the bytes of csr, above which a matrix is refused

  template <class F>
  void fields(F&& f) {
    f("width", width);
    f("limit", limit);
  }
  static constexpr char const* variants[] = {"width=1", "width=3", "width=64"};
};

template <class V, class I = std::int32_t, class O = I>
struct hyb {
  using options = hyb_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  I width = 0;
  std::size_t stride = 0;
  array<I> row_len;
  array<I> col;
  array<V> val;
  array<I> coo_row;
  array<I> coo_col;
  array<V> coo_val;
  detail::serial_number serial; ///< of the pattern

  hyb() = default;
  /// Takes arrays over after checking every invariant.
  hyb(I rows, I cols, I width, std::size_t stride, array<I> row_len, array<I> col, array<V> val,
      array<I> coo_row, array<I> coo_col, array<V> coo_val);
  /// Puts two parts of one shape together.
  hyb(unchecked_t, ell<V, I, O> regular, coo<V, I, O> others)
      : rows(regular.rows), cols(regular.cols),
        nnz(static_cast<O>(static_cast<std::size_t>(regular.nnz) + others.val.size())),
        width(regular.width), stride(regular.stride), row_len(std::move(regular.row_len)),
        col(std::move(regular.col)), val(std::move(regular.val)), coo_row(std::move(others.row)),
        coo_col(std::move(others.col)), coo_val(std::move(others.val)) {}

  static hyb from_csr(csr_view<V, I, O> a, hyb_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  hyb_view<V, I, O> view() const& {
    auto const rest = static_cast<O>(coo_val.size());
    using bits = std::make_unsigned_t<O>; // nnz may be anything in an owner that is broken
    auto const first = static_cast<O>(static_cast<bits>(nnz) - static_cast<bits>(rest));
    return detail::numbered(
        hyb_view<V, I, O>{
            unchecked,
            {unchecked, rows, cols, first, width, stride, row_len.data(), col.data(), val.data()},
            {unchecked, rows, cols, rest, coo_row.data(), coo_col.data(), coo_val.data()}},
        serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row_len, m.col, m.val, m.coo_row, m.coo_col, m.coo_val);
  }
  friend bool operator==(hyb const&, hyb const&) = default;
};

} // namespace tulle
