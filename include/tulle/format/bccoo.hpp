// SPDX-License-Identifier: Apache-2.0

/// BCCOO, blocked compressed coo: the blocks of bcoo, with one bit per block instead of its block
/// row: set if the block row continues, clear at its last block. For every 64 blocks the number of
/// block rows that ended before is stored, so that a product can begin anywhere.
///
///     1 . 2 .      height 2       flag        5        one bit per block: 10 10
///     . 3 . .      width 2        before      0
///     . . . 4                     block_col   0        1        0        1
///     5 6 7 .                     val         1 0 0 3  2 0 0 0  0 0 5 6  0 4 7 0
///                                 pattern     27673    one bit per slot: 1001 1000 0011 0110
///
/// Where block rows are empty, block_row names those that are not, once each.
///
/// Good for   several unknowns per node: a product moves even less than with bcsr.
/// Bad for    scattered entries, as bcsr; then 1 x 1, with 4 bytes less per row than csr.
/// Space      (V * height * width + I) * blocks + (8 + I) / 64 * blocks; with empty block rows, I
/// for each of the others; where there are holes, a bit for each slot, which a product reads only
/// to explain a NaN.
/// From       Liu, thesis 2015, sec. 5.4.5; Yan, Li, Zhang & Zhou, PPoPP 2014. Unlike theirs,
/// columns are not kept as differences, and the sums of a block row are joined in order.
///
/// A height or width of 0 is chosen as bcsr chooses it.
///
/// Invariants (validate() checks all of them)
///   1 <= height, width <= 8
///   flag: bit b is block b, word by word from the lowest; that of the last block is clear, and so
///   are those beyond it
///   before[w]: clear bits in words before w
///   block_row: where some block row is empty, those that are not, ascending; else empty
///   0 <= block_col[b] * width < cols; block columns ascend within a block row
///   val: row by row within a block, height * width * blocks; 0 in holes
///   pattern: bit s is slot s of val, word by word from the lowest, nnz of them set; empty where
///   there is no hole; no slot outside the matrix is set, no bit beyond the last slot
#pragma once
#include "tulle/format/bcsr.hpp"

namespace tulle {

/// The arrays, as a caller has them.
template <class V, class I>
struct bccoo_arrays {
  std::span<std::uint64_t const> flag;
  std::span<I const> before, block_row, block_col;
  std::span<V const> val;
  std::span<std::uint64_t const> pattern;
};

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct bccoo_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0; ///< entries, without holes
  int height = 1;
  int width = 1;
  O blocks = 0;
  I filled = 0;                           ///< block rows that have blocks
  std::uint64_t const* flag = nullptr;    ///< one bit per block
  I const* before = nullptr;              ///< one for each word of flag
  I const* block_row = nullptr;           ///< filled, where some are empty; else not looked at
  I const* block_col = nullptr;           ///< blocks; in units of width
  V const* val = nullptr;                 ///< blocks * height * width
  std::uint64_t const* pattern = nullptr; ///< one bit per slot; null: no holes
  std::uint64_t serial = 0;               ///< of the owner's pattern; 0: borrowed arrays

  bccoo_view() = default;
  bccoo_view(unchecked_t, I rows_, I cols_, O nnz_, int height_, int width_, I filled_,
             bccoo_arrays<V, I> const& a)
      : rows(rows_), cols(cols_), nnz(nnz_), height(height_), width(width_),
        blocks(static_cast<O>(a.block_col.size())), filled(filled_), flag(a.flag.data()),
        before(a.before.data()), block_row(a.block_row.data()), block_col(a.block_col.data()),
        val(a.val.data()), pattern(a.pattern.empty() ? nullptr : a.pattern.data()) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(slots).
  bccoo_view(I rows, I cols, int height, int width,
             bccoo_arrays<V, I> const& a) requires(S == space::host);

  std::size_t block_rows() const {
    return detail::pieces(static_cast<std::size_t>(rows), static_cast<std::size_t>(height));
  }
  std::size_t slots() const {
    return static_cast<std::size_t>(blocks) * detail::block_size(height, width);
  }
  std::size_t words() const { return (static_cast<std::size_t>(blocks) + 63) / 64; }
  bool has_empty() const { return static_cast<std::size_t>(filled) != block_rows(); }
  /// The n-th block row that has blocks.
  std::size_t block_row_at(std::size_t n) const {
    return has_empty() ? static_cast<std::size_t>(block_row[n]) : n;
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("flag", flag, words());
    f("before", before, words());
    f("block_row", block_row, has_empty() ? static_cast<std::size_t>(filled) : 0);
    f("block_col", block_col, static_cast<std::size_t>(blocks));
    f("val", val, slots());
    f("pattern", pattern, pattern ? (slots() + 63) / 64 : 0);
  }

  void validate() const { bccoo_view(*this).check(false); }
  csr<V, I, O> to_csr(cpu const& where = {}) const;
  /// The same blocks as bcsr, of which these are the pointers. Inlined: kernels may not leave it to
  /// the linker.
  [[gnu::always_inline]] bcsr_view<V, I, O> as_bcsr(O const* block_ptr) const {
    return {unchecked, rows, cols, nnz, height, width, blocks, block_ptr, block_col, val, pattern};
  }

private:
  void check(bool count); ///< every invariant; where `count`, nnz is set instead of checked
};

struct bccoo_options {
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
struct bccoo {
  using options = bccoo_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int height = 1;
  int width = 1;
  I filled = 0;
  array<std::uint64_t> flag;
  array<I> before, block_row, block_col;
  array<V> val;
  array<std::uint64_t> pattern;
  detail::serial_number serial; ///< of the pattern

  bccoo() = default;
  static bccoo from_csr(csr_view<V, I, O> a, bccoo_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  bccoo_view<V, I, O> view() const& {
    return detail::numbered(
        bccoo_view<V, I, O>{unchecked, rows, cols, nnz, height, width, filled, arrays()}, serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.flag, m.before, m.block_row, m.block_col, m.val, m.pattern);
  }
  friend bool operator==(bccoo const&, bccoo const&) = default;

private:
  bccoo_arrays<V, I> arrays() const { return {flag, before, block_row, block_col, val, pattern}; }
};

} // namespace tulle
