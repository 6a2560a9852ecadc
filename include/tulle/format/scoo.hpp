// SPDX-License-Identifier: Apache-2.0

/// SCOO, sliced coo: slices of `height` rows, the entries of each by column, with their row within
/// the slice.
///
///     1 . 2 .      height = 2     slice_ptr   0       3         7
///     . 3 . .                     row         0 1 0   1 1 1 0
///     . . . 4                     col         0 1 2   0 1 2 3
///     5 6 7 .                     val         1 3 2   5 6 7 4
///
/// Good for   rows that share columns far apart: a slice reads x in order, and each column once.
/// Bad for    long rows: each entry adds to a sum in memory, where csr keeps it in a register.
/// Space      (V + I + 2) * nnz + O * (slices + 1).
/// From       Liu, thesis 2015, sec. 5.4.2; Dang & Schmidt, J. Supercomputing 63, 2013. Unlike
/// theirs, all slices have the same height, rows take 16 bits, and no sum is taken by atomics.
///
/// Invariants (validate() checks all of them)
///   1 <= height <= 4096
///   slice_ptr[0] == 0, non-decreasing, last == nnz
///   row[k] is below height, and in the last slice below what is left of rows; 0 <= col[k] < cols
///   a slice ascends by column, then by row: no duplicates
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct scoo_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int height = 1;                     ///< rows of a slice
  O const* slice_ptr = nullptr;       ///< slices + 1; may be null when rows == 0
  std::uint16_t const* row = nullptr; ///< nnz: within the slice
  I const* col = nullptr;             ///< nnz
  V const* val = nullptr;             ///< nnz
  std::uint64_t serial = 0;           ///< of the owner's pattern; 0: borrowed arrays

  scoo_view() = default;
  scoo_view(unchecked_t, I rows_, I cols_, O nnz_, int height_, O const* slice_ptr_,
            std::uint16_t const* row_, I const* col_, V const* val_)
      : rows(rows_), cols(cols_), nnz(nnz_), height(height_), slice_ptr(slice_ptr_), row(row_),
        col(col_), val(val_) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz).
  scoo_view(I rows, I cols, int height, std::span<O const> slice_ptr,
            std::span<std::uint16_t const> row, std::span<I const> col,
            std::span<V const> val) requires(S == space::host);

  std::size_t slices() const {
    return detail::pieces(static_cast<std::size_t>(rows), static_cast<std::size_t>(height));
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("slice_ptr", slice_ptr, slice_ptr || rows > 0 ? slices() + 1 : 0);
    f("row", row, static_cast<std::size_t>(nnz));
    f("col", col, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

// ms of a product, two threads of Zen 4, slices of 32, 64, 128, 256, 512 and 4096 rows: poisson2d5
// 2000 11.5, 11.8, 12.9, 14.5, 15.4, 13.4; fem 60000 1.89, 1.81, 1.73, 1.69, 2.20, 3.63; lattice
// 500000 1.11, 1.14, 1.23, 1.35, 1.39, 1.32; rmat 18 2.95, 2.86, 2.82, 2.77, 2.82, 4.13.
struct scoo_options {
  int rows = 128; ///< of a slice, 1 to 4096

  template <class F>
  void fields(F&& f) {
    f("rows", rows);
  }
  static constexpr char const* variants[] = {"rows=1", "rows=3", "rows=4096"};
  static constexpr char const* drawn = "rows=2";
  static constexpr char const* on_device = "rows=64";
};

template <class V, class I = std::int32_t, class O = I>
struct scoo {
  using options = scoo_options;

  I rows = 0;
  I cols = 0;
  int height = 1;
  array<O> slice_ptr;
  array<std::uint16_t> row;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  scoo() = default;
  static scoo from_csr(csr_view<V, I, O> a, scoo_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  scoo_view<V, I, O> view() const& {
    return detail::numbered(scoo_view<V, I, O>{unchecked, rows, cols, static_cast<O>(val.size()),
                                               height, slice_ptr.data(), row.data(), col.data(),
                                               val.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const { scoo_view<V, I, O>(rows, cols, height, slice_ptr, row, col, val); }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.slice_ptr, m.row, m.col, m.val);
  }
  friend bool operator==(scoo const&, scoo const&) = default;
};

namespace detail {

constexpr int most_slice_rows = 4096; // whose sums fit a first-level cache, and shared memory

} // namespace detail

} // namespace tulle
