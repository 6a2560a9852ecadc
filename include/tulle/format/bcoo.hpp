// SPDX-License-Identifier: Apache-2.0

/// BCOO, blocked coo: dense blocks of height x width, each with its block row and its block column.
/// Blocks are those of bcsr, in the same order.
///
///     1 . 2 .      height 2       block_row   0        0        1        1
///     . 3 . .      width 2        block_col   0        1        0        1
///     . . . 4                     val         1 0 0 3  2 0 0 0  0 0 5 6  0 4 7 0
///     5 6 7 .                     pattern     27673    one bit per slot: 1001 1000 0011 0110
///
/// Good for   blocks in few block rows; equal shares of work without a search.
/// Bad for    blocks of few slots: two indices each, where bcsr has one.
/// Space      (V * height * width + 2 I) * blocks; where there are holes, a bit for each slot,
/// which a product reads only to explain a NaN.
/// From       Liu, thesis 2015, sec. 5.4.3; Yan, Li, Zhang & Zhou, PPoPP 2014.
///
/// A height or width of 0 is chosen as bcsr chooses it.
///
/// Invariants (validate() checks all of them)
///   1 <= height, width <= 8
///   0 <= block_row[b] * height < rows, 0 <= block_col[b] * width < cols
///   blocks ascend by block row, then by block column, without duplicates
///   val: row by row within a block, height * width * blocks; 0 in holes
///   pattern: bit s is slot s of val, word by word from the lowest, nnz of them set; empty where
///   there is no hole; no slot outside the matrix is set, no bit beyond the last slot
#pragma once
#include "tulle/format/bcsr.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct bcoo_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0; ///< entries, without holes
  int height = 1;
  int width = 1;
  O blocks = 0;
  I const* block_row = nullptr;           ///< blocks; in units of height
  I const* block_col = nullptr;           ///< blocks; in units of width
  V const* val = nullptr;                 ///< blocks * height * width
  std::uint64_t const* pattern = nullptr; ///< one bit per slot; null: no holes
  std::uint64_t serial = 0;               ///< of the owner's pattern; 0: borrowed arrays

  bcoo_view() = default;
  bcoo_view(unchecked_t, I rows_, I cols_, O nnz_, int height_, int width_, O blocks_,
            I const* block_row_, I const* block_col_, V const* val_, std::uint64_t const* pattern_)
      : rows(rows_), cols(cols_), nnz(nnz_), height(height_), width(width_), blocks(blocks_),
        block_row(block_row_), block_col(block_col_), val(val_), pattern(pattern_) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(slots).
  bcoo_view(I rows, I cols, int height, int width, std::span<I const> block_row,
            std::span<I const> block_col, std::span<V const> val,
            std::span<std::uint64_t const> pattern = {}) requires(S == space::host);

  std::size_t block_rows() const {
    return detail::pieces(static_cast<std::size_t>(rows), static_cast<std::size_t>(height));
  }
  std::size_t slots() const {
    return static_cast<std::size_t>(blocks) * detail::block_size(height, width);
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("block_row", block_row, static_cast<std::size_t>(blocks));
    f("block_col", block_col, static_cast<std::size_t>(blocks));
    f("val", val, slots());
    f("pattern", pattern, pattern ? (slots() + 63) / 64 : 0);
  }

  void validate() const { bcoo_view(*this).check(false); }
  csr<V, I, O> to_csr(cpu const& where = {}) const;
  /// The same blocks as bcsr, of which these are the pointers. Inlined: kernels may not leave it to
  /// the linker.
  [[gnu::always_inline]] bcsr_view<V, I, O> as_bcsr(O const* block_ptr) const {
    return {unchecked, rows, cols, nnz, height, width, blocks, block_ptr, block_col, val, pattern};
  }

private:
  void check(bool count); ///< every invariant; where `count`, nnz is set instead of checked
};

struct bcoo_options {
  int rows = 0;     ///< of a block, 1 to 8; 0: chosen
  int cols = 0;     ///< of a block, 1 to 8; 0: chosen
  double limit = 8; ///< times the bytes of csr; more is refused

  template <class F>
  void fields(F&& f) {
    f("rows", rows);
    f("cols", cols);
    f("limit", limit);
  }
  static constexpr char const* variants[] = {"rows=2:cols=2", "rows=3:cols=3", "rows=8:cols=8",
                                             "rows=5:cols=3"};
  static constexpr char const* drawn = "rows=2:cols=2";
};

template <class V, class I = std::int32_t, class O = I>
struct bcoo {
  using options = bcoo_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int height = 1;
  int width = 1;
  array<I> block_row, block_col;
  array<V> val;
  array<std::uint64_t> pattern;
  detail::serial_number serial; ///< of the pattern

  bcoo() = default;
  static bcoo from_csr(csr_view<V, I, O> a, bcoo_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  bcoo_view<V, I, O> view() const& {
    return detail::numbered(bcoo_view<V, I, O>{unchecked, rows, cols, nnz, height, width,
                                               static_cast<O>(block_col.size()), block_row.data(),
                                               block_col.data(), val.data(), pattern.data()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.block_row, m.block_col, m.val, m.pattern);
  }
  friend bool operator==(bcoo const&, bcoo const&) = default;
};

} // namespace tulle
