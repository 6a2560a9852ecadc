// SPDX-License-Identifier: Apache-2.0

/// BSELL, bcsr in slices: block rows in slices of C, whose blocks are interleaved so that
/// neighbouring lanes read neighbouring values; within windows of sigma block rows the longest come
/// first.
///
///     1 . 2 .      height 2, width 2     len         2 2
///     . 3 . .      chunk = 2: one slice  slice_ptr   0                 4
///     . . . 4      of both block rows    base        0
///     5 6 7 .                            short_col   0 0 1 1
///                                        val         1 0 2 0  0 0 0 4  0 5 0 7  3 6 0 0
///                                        pattern     25033   one bit per slot: 1001 0011 1000 0110
///
/// A slice is as long as its longest block row, rounded up to an even number of blocks. Blocks are
/// taken in fours by two lanes per block row: block k of row r is one of two of lane k % 4 / 2 * C
/// + r, and their values are stored in pairs, lane after lane. Two blocks that are left over have
/// one lane each, and their values are stored singly, lane after lane, as in the picture.
///
/// Good for   what suits bcsr, on a GPU: blocks are read without gaps.
/// Bad for    what does not suit bcsr; very different block row lengths within a window.
/// Space      (V * height * width + 2 or I) * stored blocks + I * block rows, I more where rows are
/// sorted; where there are holes, a bit for each slot.
/// From       Choi, Singh & Vuduc, PPoPP 2010 (blocked ELLPACK); Kreutzer et al., SIAM J. Sci.
/// Comput. 36(5), 2014.
///
/// Blocks are those of bcsr, and chosen as there. Slices of a sorted matrix go from the longest to
/// the shortest, except for an incomplete last one, so that the last to be taken are the least
/// work.
///
/// Invariants (validate() checks all of them)
///   1 <= height, width <= 8; chunk is a power of two up to 64
///   perm names each block row once; none: block rows in order
///   slice_ptr[0] == 0; a slice has chunk times its longest len, rounded up to even, of blocks
///   block columns lie in the matrix and ascend within a block row; either all in full (col), or as
///   16 bits relative to one base per slice (short_col)
///   padding: column 0, values and bits 0
///   pattern: height * width bits for each block in the order of columns, row by row, nnz of them
///   set; empty where no block has a hole; val is 0 in holes; no bit outside the matrix
#pragma once
#include "tulle/format/bcsr.hpp"

#include <cstdint>
#include <numeric>

namespace tulle {

/// The arrays of bsell, as the caller provides them.
template <class V, class I, class O>
struct bsell_arrays {
  std::span<I const> perm, len;
  std::span<O const> slice_ptr;
  std::span<I const> base, col;
  std::span<std::uint16_t const> short_col;
  std::span<V const> val;
  std::span<std::uint64_t const> pattern;
};

namespace detail {

/// Where block k of row r of a slice lies, among all blocks, and slot e of it among all values.
struct bsell_places {
  std::size_t begin; // of the slice, in blocks
  std::size_t fours; // blocks of a row that go by fours
  std::size_t chunk, size;

  constexpr bsell_places(std::size_t begin_, std::size_t end, int chunk_, int size_)
      : begin(begin_), fours((end - begin_) / static_cast<std::size_t>(chunk_) / 4 * 4),
        chunk(static_cast<std::size_t>(chunk_)), size(static_cast<std::size_t>(size_)) {}
  constexpr std::size_t block(std::size_t k, std::size_t r) const {
    return k < fours ? begin + k / 4 * 4 * chunk + (k % 4 / 2 * chunk + r) * 2 + k % 2
                     : begin + k * chunk + r;
  }
  /// Slot 0 of a block, and slot e from there.
  constexpr std::size_t first(std::size_t k, std::size_t r) const {
    return k < fours ? (begin + k / 4 * 4 * chunk) * size +
                           (k % 2 * size / 2 * 2 + k % 4 / 2) * chunk * 2 + r * 2 + k % 2 * size % 2
                     : (begin + fours * chunk) * size + k % 2 * chunk + r;
  }
  constexpr std::size_t slot(std::size_t k, std::size_t e) const {
    std::size_t const odd = k % 2 * size % 2; // a pair's second value is the block's first
    return k < fours ? (e + odd) / 2 * 4 * chunk + (e + odd) % 2 - odd : e * 2 * chunk;
  }
  constexpr std::size_t value(std::size_t k, std::size_t r, std::size_t e) const {
    return first(k, r) + slot(k, e);
  }
};

} // namespace detail

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct bsell_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0; ///< entries, without holes
  int height = 1;
  int width = 1;
  int chunk = 1;                            ///< block rows of a slice
  O stored = 0;                             ///< blocks, with padding
  I const* perm = nullptr;                  ///< block rows, or null: row p is at place p
  I const* len = nullptr;                   ///< block rows: blocks of the one at each place
  O const* slice_ptr = nullptr;             ///< slices + 1
  I const* base = nullptr;                  ///< slices; null where columns are in full
  I const* col = nullptr;                   ///< stored, or null
  std::uint16_t const* short_col = nullptr; ///< stored, or null
  V const* val = nullptr;                   ///< stored * height * width
  std::uint64_t const* pattern = nullptr;   ///< null: no holes
  std::uint64_t serial = 0;                 ///< of the owner's pattern; 0: borrowed arrays

  bsell_view() = default;
  bsell_view(unchecked_t, I rows, I cols, O nnz, int height, int width, int chunk,
             bsell_arrays<V, I, O> const& a);
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + slots).
  bsell_view(I rows, I cols, int height, int width, int chunk,
             bsell_arrays<V, I, O> const& a) requires(S == space::host);

  constexpr int size() const { ///< of a block
    return static_cast<int>(detail::block_size(height, width));
  }
  constexpr std::size_t block_rows() const {
    return detail::pieces(static_cast<std::size_t>(rows), static_cast<std::size_t>(height));
  }
  constexpr std::size_t slices() const {
    return detail::pieces(block_rows(), static_cast<std::size_t>(chunk));
  }
  /// The block row at a place, and where the blocks of a slice lie.
  constexpr I row_at(std::size_t place) const { return perm ? perm[place] : static_cast<I>(place); }
  constexpr detail::bsell_places places_of(std::size_t s) const {
    return {static_cast<std::size_t>(slice_ptr[s]), static_cast<std::size_t>(slice_ptr[s + 1]),
            chunk, size()};
  }
  /// The column of a block of slice s.
  constexpr I col_at(std::size_t s, std::size_t block) const {
    return short_col ? static_cast<I>(base[s] + static_cast<I>(short_col[block])) : col[block];
  }
  std::size_t words() const {
    return (static_cast<std::size_t>(stored) * static_cast<std::size_t>(size()) + 63) / 64;
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    auto const n = static_cast<std::size_t>(stored);
    f("perm", perm, perm ? block_rows() : 0);
    f("len", len, block_rows());
    f("slice_ptr", slice_ptr, slice_ptr || rows > 0 ? slices() + 1 : 0);
    f("base", base, base ? slices() : 0);
    f("col", col, col ? n : 0);
    f("short_col", short_col, short_col ? n : 0);
    f("val", val, n * static_cast<std::size_t>(size()));
    f("pattern", pattern, pattern ? words() : 0);
  }

  void validate() const { bsell_view(*this).check(false); }
  csr<V, I, O> to_csr(cpu const& where = {}) const;

private:
  void check(bool count); ///< every invariant; where `count`, nnz is set instead of checked
  std::size_t check_slice(std::size_t s) const; ///< returns its entries
};

// ms of a product, double, avx2 on two threads of Zen 4, fem 60000: slices of 4 0.99, of 8 3.07, of
// 16 3.12, where a vector of four rows steps over those of others; bcsr 0.94.
struct bsell_options {
  int rows = 0;     ///< of a block, 1 to 8; 0: chosen
  int cols = 0;     ///< of a block, 1 to 8; 0: chosen
  int chunk = 0;    ///< block rows of a slice: a power of two up to 64; 0: 32 bytes of values
  int sigma = 4096; ///< block rows sorted together: a multiple of chunk, or 1 for none
  double limit = 8; ///< times the bytes of csr that it may take

  template <class F>
  void fields(F&& f) {
    f("rows", rows);
    f("cols", cols);
    f("chunk", chunk);
    f("sigma", sigma);
    f("limit", limit);
  }
  static constexpr char const* on_device = "chunk=16:sigma=16384"; ///< one warp per slice
  static constexpr char const* drawn = "rows=2:cols=2:chunk=2";
  static constexpr char const* variants[] = {
      "rows=2:cols=2",
      "rows=3:cols=3:chunk=16:sigma=32",
      "rows=4:cols=4:chunk=8:sigma=16",
      "rows=1:cols=1:chunk=4:sigma=8",
      "rows=5:cols=3:chunk=2:sigma=1",
      "rows=8:cols=8:chunk=64:sigma=64",
  };
};

template <class V, class I = std::int32_t, class O = I>
struct bsell {
  using options = bsell_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int height = 1;
  int width = 1;
  int chunk = 1;
  array<I> perm, len;
  array<O> slice_ptr;
  array<I> base, col;
  array<std::uint16_t> short_col;
  array<V> val;
  array<std::uint64_t> pattern;
  detail::serial_number serial; ///< of the pattern

  static bsell from_csr(csr_view<V, I, O> a, bsell_options o = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  bsell_view<V, I, O> view() const& {
    return detail::numbered(
        bsell_view<V, I, O>{unchecked, rows, cols, nnz, height, width, chunk, arrays()}, serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const {
    bsell_view<V, I, O> const found(rows, cols, height, width, chunk, arrays());
    if (found.nnz != nnz)
      fail(errc::bad_structure, "bsell: the pattern has %lld entries, expected nnz, %lld",
           static_cast<long long>(found.nnz), static_cast<long long>(nnz));
  }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.perm, m.len, m.slice_ptr, m.base, m.col, m.short_col, m.val, m.pattern);
  }
  friend bool operator==(bsell const&, bsell const&) = default;

private:
  bsell_arrays<V, I, O> arrays() const {
    return {perm, len, slice_ptr, base, col, short_col, val, pattern};
  }
};

template <class V, class I, class O, space S>
bsell_view<V, I, O, S>::bsell_view(unchecked_t, I rows_, I cols_, O nnz_, int height_, int width_,
                                   int chunk_, bsell_arrays<V, I, O> const& a)
    : rows(rows_), cols(cols_), nnz(nnz_), height(height_), width(width_), chunk(chunk_),
      stored(a.slice_ptr.empty() ? O(0) : a.slice_ptr.back()),
      perm(a.perm.empty() ? nullptr : a.perm.data()), len(a.len.data()),
      slice_ptr(a.slice_ptr.data()), base(a.base.empty() ? nullptr : a.base.data()),
      col(a.col.empty() ? nullptr : a.col.data()),
      short_col(a.short_col.empty() ? nullptr : a.short_col.data()), val(a.val.data()),
      pattern(a.pattern.empty() ? nullptr : a.pattern.data()) {}

} // namespace tulle
