// SPDX-License-Identifier: Apache-2.0

/// SELL-C-sigma: rows in chunks of C, each chunk stored column by column and padded to its longest
/// row; within windows of sigma rows the longest come first.
///
///     1 . 2 .      chunk = 2, sigma = 4     perm        3 0   1 2
///     . 3 . .      chunk 0: rows 3 and 0    len         3 2   1 1
///     . . . 4      chunk 1: rows 1 and 2    step_ptr    0     3     4
///     5 6 7 .                               kind        1     5
///                                           col_ptr     0     6
///                                           base        0     1
///                                           short_col   0 0   1 2   2 2   0 2
///                                           val         5 1   6 2   7 0   3 4
///
/// Each chunk stores its columns in one of four ways: in full (kind 0: col), as 16 bits relative to
/// a base (kind 1: short_col), or as one offset per step, column = offset + row, if all rows of the
/// chunk have the same offsets (kind 2: col; kind 3: likewise, but some rows lack some, and one
/// mask per step marks which have it). Chunks with the same offsets as the previous chunk share
/// them, so a stencil stores little more than values. A window is sorted only if that saves more
/// than it costs. Rows much longer than most are kept apart: long_row, long_ptr, long_col,
/// long_val, as in csr.
///
/// A matrix that equals its transpose may be stored `symmetric`: only entries on and below the
/// diagonal, each one below it standing for two; no row is kept apart then.
///
/// Good for   rows of similar length, stencils first; wide SIMD, one lane per row.
/// Bad for    very different row lengths within a window; columns in no order over a large x.
/// Space      (V + c) * stored + I * rows, c being 2, I or about 0; I more per row if rows are
/// sorted.
/// From       Liu, thesis 2015, sec. 5.4.1; Kreutzer et al., SIAM J. Sci. Comput. 36(5), 2014.
///
/// Invariants (validate() checks all of them)
///   chunk is a power of two up to 64; perm and long_row name each row once; no perm: rows in order
///   step_ptr[0] == 0, non-decreasing, last * chunk == val.size()
///   kind is 0 to 3, 4 more where the chunk's rows follow each other, as they do in kinds 2 and 3
///   and in all where there is no perm
///   columns, those of padding too, lie in [0, cols) and ascend within a row
///   a row's entries come first and are len; in kind 3 they are where the mask has its lane's bit
///   val is 0 where there is no entry
///   symmetric: rows == cols, no long rows, perm stays within windows of sigma rows, a multiple of
///   chunk; no entry lies above the diagonal, and no offset
#pragma once
#include "tulle/format/csr.hpp"

#include <cstdint>

namespace tulle {

/// How a chunk of sell stores its columns; +in_order where its rows follow each other.
namespace sell_kind {
inline constexpr std::uint8_t full = 0, shorts = 1, shared = 2, holed = 3, mask = 3, in_order = 4;
}

/// The arrays of sell, as the caller provides them.
template <class V, class I, class O>
struct sell_arrays {
  std::span<I const> perm, len;
  std::span<O const> step_ptr;
  std::span<std::uint8_t const> kind;
  std::span<O const> col_ptr;
  std::span<I const> base, col;
  std::span<std::uint16_t const> short_col;
  std::span<std::uint64_t const> mask;
  std::span<V const> val;
  std::span<I const> long_row;
  std::span<O const> long_ptr;
  std::span<I const> long_col;
  std::span<V const> long_val;
};

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct sell_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;              ///< without padding, with what is not kept twice
  int chunk = 1;          ///< rows of a chunk
  int sigma = 1;          ///< rows that were sorted together
  bool symmetric = false; ///< entries below the diagonal stand for those above it
  I longs = 0;            ///< rows kept apart
  O stored = 0, col_size = 0, short_size = 0, mask_size = 0, long_nnz = 0;
  I const* perm = nullptr;            ///< rows - longs, or null: row p is at place p
  I const* len = nullptr;             ///< rows - longs
  O const* step_ptr = nullptr;        ///< chunks + 1; step s is val[s * chunk], one per row
  std::uint8_t const* kind = nullptr; ///< chunks
  O const* col_ptr = nullptr;         ///< chunks: where in col or short_col
  I const* base = nullptr;            ///< chunks: added to shorts; where in mask for kind 3
  I const* col = nullptr;
  std::uint16_t const* short_col = nullptr;
  std::uint64_t const* mask = nullptr;
  V const* val = nullptr;      ///< stored
  I const* long_row = nullptr; ///< longs
  O const* long_ptr = nullptr; ///< longs + 1; may be null when longs == 0
  I const* long_col = nullptr; ///< long_nnz
  V const* long_val = nullptr; ///< long_nnz
  std::uint64_t serial = 0;    ///< of the owner's pattern; 0: borrowed arrays

  sell_view() = default;
  sell_view(unchecked_t, I rows, I cols, O nnz, int chunk, int sigma, sell_arrays<V, I, O> const& a,
            bool symmetric = false);
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + stored).
  sell_view(I rows, I cols, int chunk, int sigma, sell_arrays<V, I, O> const& a,
            bool symmetric = false) requires(S == space::host);

  /// Rows in chunks, and the number of chunks.
  std::size_t places() const {
    return static_cast<std::size_t>(rows) - static_cast<std::size_t>(longs);
  }
  std::size_t chunks() const { return detail::pieces(places(), static_cast<std::size_t>(chunk)); }
  /// The row at a place.
  I row_at(std::size_t place) const { return perm ? perm[place] : static_cast<I>(place); }
  /// Rows of chunk c: less than `chunk` in the last one only.
  int rows_of(std::size_t c) const {
    std::size_t const left = places() - c * static_cast<std::size_t>(chunk);
    return left < static_cast<std::size_t>(chunk) ? static_cast<int>(left) : chunk;
  }
  /// f(position in val, column) for each entry of the row in that lane of chunk c, in order.
  template <class F>
  void entries_of(std::size_t c, int lane, F&& f) const;

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    std::size_t const n = chunks();
    f("perm", perm, perm ? places() : 0);
    f("len", len, places());
    f("step_ptr", step_ptr, step_ptr || n > 0 ? n + 1 : 0);
    f("kind", kind, n);
    f("col_ptr", col_ptr, n);
    f("base", base, n);
    f("col", col, static_cast<std::size_t>(col_size));
    f("short_col", short_col, static_cast<std::size_t>(short_size));
    f("mask", mask, static_cast<std::size_t>(mask_size));
    f("val", val, static_cast<std::size_t>(stored));
    f("long_row", long_row, static_cast<std::size_t>(longs));
    f("long_ptr", long_ptr, long_ptr || longs > 0 ? static_cast<std::size_t>(longs) + 1 : 0);
    f("long_col", long_col, static_cast<std::size_t>(long_nnz));
    f("long_val", long_val, static_cast<std::size_t>(long_nnz));
  }

  void validate() const { sell_view(*this).check(false); }
  csr<V, I, O> to_csr(cpu const& where = {}) const;

private:
  void check(bool count); ///< every invariant; where `count`, nnz is set instead of checked
  void check_chunk(std::size_t c) const;
  std::size_t check_lower() const; ///< what symmetric promises; returns entries on the diagonal
};

// ms of a product, double, avx2 on Zen 4, one thread, the machine not quiet, with chunks of 4, 8,
// 16, 32: poisson2d5 2000 12.2, 10.6, 10.3, 10.2; fem 60000 2.1, 2.1, 2.7, 3.1. sigma of 32, 256,
// 16384 on rmat 18 16 with chunks of 8: 8.9, 7.4, 7.2; on fem 2.0, 2.2, 2.2.
struct sell_options {
  int chunk = 8;    ///< rows of a chunk: a power of two up to 64
  int sigma = 4096; ///< rows sorted together: a multiple of chunk, or 1 for none
  int split = 8;    ///< rows beyond 64 entries and this times the average go apart; 0: none
  bool short_columns = true;  ///< 16-bit columns where they fit
  bool shared_offsets = true; ///< one column offset for all rows of a chunk where they allow it
  double limit = 8;           ///< times the bytes of csr that it may take
  bool symmetric = false; ///< store one of two mirrored entries; refused if not symmetric; no split

  template <class F>
  void fields(F&& f) {
    f("chunk", chunk);
    f("sigma", sigma);
    f("split", split);
    f("short_columns", short_columns);
    f("shared_offsets", shared_offsets);
    f("limit", limit);
    f("symmetric", symmetric);
  }
  static constexpr char const* on_device = "chunk=32:sigma=1024"; ///< one warp per chunk
  static constexpr char const* drawn = "chunk=2:sigma=4";
  static constexpr char const* variants[] = {"chunk=1:sigma=1",
                                             "chunk=2:sigma=6:split=1",
                                             "chunk=4:sigma=1:split=0",
                                             "chunk=16:sigma=64:shared_offsets=false",
                                             "chunk=32:sigma=32:short_columns=false:split=2",
                                             "chunk=64:sigma=1:split=1",
                                             "symmetric=true",
                                             "symmetric=true:chunk=1:sigma=8",
                                             "symmetric=true:chunk=2:sigma=1",
                                             "symmetric=true:chunk=4:sigma=64:shared_offsets=false",
                                             "symmetric=true:chunk=32:sigma=1"};
};

template <class V, class I = std::int32_t, class O = I>
struct sell {
  using options = sell_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int chunk = 1;
  int sigma = 1;
  bool symmetric = false;
  array<I> perm, len;
  array<O> step_ptr;
  array<std::uint8_t> kind;
  array<O> col_ptr;
  array<I> base, col;
  array<std::uint16_t> short_col;
  array<std::uint64_t> mask;
  array<V> val;
  array<I> long_row;
  array<O> long_ptr;
  array<I> long_col;
  array<V> long_val;
  detail::serial_number serial; ///< of the pattern

  static sell from_csr(csr_view<V, I, O> a, sell_options o = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  sell_view<V, I, O> view() const& {
    return detail::numbered(
        sell_view<V, I, O>{unchecked, rows, cols, nnz, chunk, sigma, arrays(), symmetric}, serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const {
    if (sell_view<V, I, O>(rows, cols, chunk, sigma, arrays(), symmetric).nnz != nnz)
      view().validate(); // says so
  }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.perm, m.len, m.step_ptr, m.kind, m.col_ptr, m.base, m.col, m.short_col, m.mask, m.val,
      m.long_row, m.long_ptr, m.long_col, m.long_val);
  }
  friend bool operator==(sell const&, sell const&) = default;

private:
  sell_arrays<V, I, O> arrays() const {
    return {perm,      len,  step_ptr, kind,     col_ptr,  base,     col,
            short_col, mask, val,      long_row, long_ptr, long_col, long_val};
  }
};

template <class V, class I, class O, space S>
sell_view<V, I, O, S>::sell_view(unchecked_t, I rows_, I cols_, O nnz_, int chunk_, int sigma_,
                                 sell_arrays<V, I, O> const& a, bool symmetric_)
    : rows(rows_), cols(cols_), nnz(nnz_), chunk(chunk_), sigma(sigma_), symmetric(symmetric_),
      longs(static_cast<I>(a.long_row.size())), stored(static_cast<O>(a.val.size())),
      col_size(static_cast<O>(a.col.size())), short_size(static_cast<O>(a.short_col.size())),
      mask_size(static_cast<O>(a.mask.size())), long_nnz(static_cast<O>(a.long_val.size())),
      perm(a.perm.empty() ? nullptr : a.perm.data()), len(a.len.data()),
      step_ptr(a.step_ptr.data()), kind(a.kind.data()), col_ptr(a.col_ptr.data()),
      base(a.base.data()), col(a.col.data()), short_col(a.short_col.data()), mask(a.mask.data()),
      val(a.val.data()), long_row(a.long_row.data()), long_ptr(a.long_ptr.data()),
      long_col(a.long_col.data()), long_val(a.long_val.data()) {}

template <class V, class I, class O, space S>
template <class F>
void sell_view<V, I, O, S>::entries_of(std::size_t c, int lane, F&& f) const {
  auto const wide = static_cast<std::size_t>(chunk);
  auto const at = static_cast<std::size_t>(lane);
  std::size_t const first = static_cast<std::size_t>(step_ptr[c]) * wide + at;
  auto const from = static_cast<std::size_t>(col_ptr[c]);
  auto const n = static_cast<std::size_t>(len[c * wide + at]);
  switch (kind[c] & sell_kind::mask) {
  case sell_kind::full:
    for (std::size_t k = 0; k < n; ++k)
      f(first + k * wide, col[from + k * wide + at]);
    break;
  case sell_kind::shorts:
    for (std::size_t k = 0; k < n; ++k)
      f(first + k * wide, static_cast<I>(base[c] + short_col[from + k * wide + at]));
    break;
  case sell_kind::shared: {
    I const row = row_at(c * wide + at);
    for (std::size_t k = 0; k < n; ++k)
      f(first + k * wide, static_cast<I>(col[from + k] + row));
    break;
  }
  default: {
    I const row = row_at(c * wide + at);
    std::uint64_t const* const has = mask + base[c];
    for (std::size_t k = 0, left = n; left > 0; ++k)
      if (has[k] >> at & 1) {
        f(first + k * wide, static_cast<I>(col[from + k] + row));
        --left;
      }
  }
  }
}

} // namespace tulle
