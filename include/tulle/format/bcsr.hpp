// SPDX-License-Identifier: Apache-2.0

/// BCSR, blocked csr: dense blocks of height x width with one column index per block. Blocks begin
/// at multiples of height and width; a slot without an entry is a hole.
///
///     1 . 2 .      height 2       block_ptr   0                 2                 4
///     . 3 . .      width 2        block_col   0        1        0        1
///     . . . 4                     val         1 0 0 3  2 0 0 0  0 0 5 6  0 4 7 0
///     5 6 7 .                     pattern     27673    one bit per slot: 1001 1000 0011 0110
///
/// A matrix that equals its transpose may be stored `symmetric`, in square blocks: whole blocks on
/// the diagonal, and blocks below it that stand for two each.
///
/// Good for   several unknowns per node (fem, cfd): a product moves little more than the values.
/// Bad for    scattered entries: holes cost as much as entries; then 1 x 1, which is csr.
/// Space      (V * height * width + I) * blocks + O * (rows / height + 1); where there are holes, a
/// bit for each slot, which a product reads only to explain a NaN.
/// From       Im & Yelick, SPARSITY, ICCS 2001; Liu, thesis 2015, sec. 5.4.4.
///
/// A height or width of 0 is chosen, as in SPARSITY, by the fill that a sample shows: block rows at
/// 2 to 16 places spread over the matrix, 24 rows at each, at most 32 blocks of a block row. The
/// fill gives the bytes per entry that a product moves. Of all shapes up to 8 x 8 the one with the
/// fewest bytes is taken, if it saves a twentieth over 1 x 1. If the sample misled and all blocks
/// take more than csr, 1 x 1 is used.
///
/// Invariants (validate() checks all of them)
///   1 <= height, width <= 8
///   block_ptr[0] == 0, non-decreasing, last == blocks == block_col.size()
///   0 <= block_col[b] * width < cols; block columns ascend within a block row
///   val: row by row within a block, height * width * blocks; 0 in holes
///   pattern: bit s is slot s of val, word by word from the lowest, nnz of them set; empty where
///   there is no hole; no slot outside the matrix is set, no bit beyond the last slot
///   symmetric: rows == cols, height == width, no block above the diagonal; those on it equal their
///   transpose; bits below it count twice
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/format/detail/block_bits.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct bcsr_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0; ///< entries, without holes, with those that are not kept twice
  int height = 1;
  int width = 1;
  bool symmetric = false; ///< blocks below the diagonal stand for those above it
  O blocks = 0;
  O const* block_ptr = nullptr;           ///< block rows + 1
  I const* block_col = nullptr;           ///< blocks; in units of width
  V const* val = nullptr;                 ///< blocks * height * width
  std::uint64_t const* pattern = nullptr; ///< one bit per slot; null: no holes
  std::uint64_t serial = 0;               ///< of the owner's pattern; 0: borrowed arrays

  bcsr_view() = default;
  bcsr_view(unchecked_t, I rows_, I cols_, O nnz_, int height_, int width_, O blocks_,
            O const* block_ptr_, I const* block_col_, V const* val_, std::uint64_t const* pattern_,
            bool symmetric_ = false)
      : rows(rows_), cols(cols_), nnz(nnz_), height(height_), width(width_), symmetric(symmetric_),
        blocks(blocks_), block_ptr(block_ptr_), block_col(block_col_), val(val_),
        pattern(pattern_) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + slots).
  bcsr_view(I rows, I cols, int height, int width, std::span<O const> block_ptr,
            std::span<I const> block_col, std::span<V const> val,
            std::span<std::uint64_t const> pattern = {},
            bool symmetric = false) requires(S == space::host);

  std::size_t block_rows() const {
    return detail::pieces(static_cast<std::size_t>(rows), static_cast<std::size_t>(height));
  }
  std::size_t slots() const {
    return static_cast<std::size_t>(blocks) * detail::block_size(height, width);
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("block_ptr", block_ptr, block_ptr || rows > 0 ? block_rows() + 1 : 0);
    f("block_col", block_col, static_cast<std::size_t>(blocks));
    f("val", val, slots());
    f("pattern", pattern, pattern ? (slots() + 63) / 64 : 0);
  }

  void validate() const { bcsr_view(*this).check(false); }
  csr<V, I, O> to_csr(cpu const& where = {}) const;

private:
  void check(bool count); ///< every invariant; where `count`, nnz is set instead of checked
};

struct bcsr_options {
  int rows = 0;           ///< of a block, 1 to 8; 0: chosen
  int cols = 0;           ///< of a block, 1 to 8; 0: chosen
  double limit = 8;       ///< times the bytes of csr; more is refused
  bool symmetric = false; ///< store one of two mirrored blocks; refused if not symmetric

  template <class F>
  void fields(F&& f) {
    f("rows", rows);
    f("cols", cols);
    f("limit", limit);
    f("symmetric", symmetric);
  }
  static constexpr char const* variants[] = {
      "rows=2:cols=2",         "rows=3:cols=3",         "rows=4:cols=4",
      "rows=8:cols=8",         "rows=5:cols=3",         "rows=7:cols=1",
      "symmetric=true",        "symmetric=true:rows=1", "symmetric=true:rows=2",
      "symmetric=true:rows=3", "symmetric=true:rows=5", "symmetric=true:rows=8"};
  static constexpr char const* drawn = "rows=2:cols=2";
};

template <class V, class I = std::int32_t, class O = I>
struct bcsr {
  using options = bcsr_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int height = 1;
  int width = 1;
  bool symmetric = false;
  array<O> block_ptr;
  array<I> block_col;
  array<V> val;
  array<std::uint64_t> pattern;
  detail::serial_number serial; ///< of the pattern

  bcsr() = default;
  /// Takes arrays over after checking every invariant.
  bcsr(I rows, I cols, int height, int width, array<O> block_ptr, array<I> block_col, array<V> val,
       array<std::uint64_t> pattern = {}, bool symmetric = false);
  bcsr(unchecked_t, I rows_, I cols_, O nnz_, int height_, int width_, array<O> block_ptr_,
       array<I> block_col_, array<V> val_, array<std::uint64_t> pattern_, bool symmetric_ = false)
      : rows(rows_), cols(cols_), nnz(nnz_), height(height_), width(width_), symmetric(symmetric_),
        block_ptr(std::move(block_ptr_)), block_col(std::move(block_col_)), val(std::move(val_)),
        pattern(std::move(pattern_)) {}

  static bcsr from_csr(csr_view<V, I, O> a, bcsr_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  bcsr_view<V, I, O> view() const& {
    return detail::numbered(bcsr_view<V, I, O>{unchecked, rows, cols, nnz, height, width,
                                               static_cast<O>(block_col.size()), block_ptr.data(),
                                               block_col.data(), val.data(), pattern.data(),
                                               symmetric},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.block_ptr, m.block_col, m.val, m.pattern);
  }
  friend bool operator==(bcsr const&, bcsr const&) = default;

private:
  bcsr_view<V, I, O> checked() const {
    return {rows, cols, height, width, block_ptr, block_col, val, pattern, symmetric};
  }
};

} // namespace tulle
