// SPDX-License-Identifier: Apache-2.0

/// BRC, blocked rows and columns: rows sorted by length, the longest first, `chunk` at a time;
/// their entries in blocks of up to `width` each, column by column and padded to the first row.
/// Blocks with the first entries of all rows come first, then blocks with the next entries of
/// longer rows.
///
///     1 . 2 .      chunk = 2     perm         3 0       1 2
///     . 3 . .      width = 2     len          3 2       1 1
///     . . . 4                    level_rows   4               1
///     5 6 7 .                    level_ptr    0               2   3
///                                block_ptr    0         4     6   7
///                                col          0 0 1 2   1 3   2
///                                val          5 1 6 2   3 4   7
///
/// Good for   rows of any lengths, one lane per row: blocks are alike, and a long row has many.
/// Bad for    neighbouring rows with similar columns: sorting separates them, and x is read in no
/// order.
/// Space      (V + I) * stored + 2 I * rows + O * blocks; a level pads no more than one chunk by
/// `width`, so that stored is at most nnz + chunk * (longest row + width).
/// From       Liu, thesis 2015, sec. 5.4.6; Ashari, Sedaghati, Eisenlohr & Sadayappan, ICS 2014.
/// Unlike theirs, the parts of a row are joined in order and width is the same everywhere.
///
/// Invariants (validate() checks all of them)
///   perm names each row once; len has their entries and does not increase
///   level t has the places with len > t * width, level_rows[t] of them, in blocks of `chunk`
///   level_ptr[0] == 0: level t has the blocks from level_ptr[t] on
///   a block is as wide as its first row goes on, up to width; block_ptr[0] == 0
///   slot k of row r of a block of n rows is col[block_ptr[b] + k * n + r], and val
///   columns ascend within a row; padding has val 0 and a column that exists
#pragma once
#include "tulle/format/detail/jds_base.hpp"

namespace tulle {

/// The arrays, as a caller has them.
template <class V, class I, class O>
struct brc_arrays {
  std::span<I const> perm, len, level_rows, level_ptr;
  std::span<O const> block_ptr;
  std::span<I const> col;
  std::span<V const> val;
};

namespace detail {

struct brc_block {
  std::size_t first, rows; ///< places
  std::size_t width;
  std::size_t at;     ///< where its slots begin
  std::size_t before; ///< entries that its rows have in blocks before
};

} // namespace detail

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct brc_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0; ///< without padding
  int chunk = 1;
  int width = 1;
  I levels = 0;
  I blocks = 0;
  O stored = 0;                  ///< with padding
  I const* perm = nullptr;       ///< rows: the row at each place
  I const* len = nullptr;        ///< rows: at each place
  I const* level_rows = nullptr; ///< levels
  I const* level_ptr = nullptr;  ///< levels + 1; may be null when there are none
  O const* block_ptr = nullptr;  ///< blocks + 1; may be null when there are none
  I const* col = nullptr;        ///< stored
  V const* val = nullptr;        ///< stored
  std::uint64_t serial = 0;      ///< of the owner's pattern; 0: borrowed arrays

  brc_view() = default;
  brc_view(unchecked_t, I rows_, I cols_, O nnz_, int chunk_, int width_,
           brc_arrays<V, I, O> const& a)
      : rows(rows_), cols(cols_), nnz(nnz_), chunk(chunk_), width(width_),
        levels(narrow<I>(a.level_rows.size(), "number of levels")),
        blocks(detail::lines_of<I>(a.block_ptr)), stored(static_cast<O>(a.val.size())),
        perm(a.perm.data()), len(a.len.data()), level_rows(a.level_rows.data()),
        level_ptr(detail::pointers_in(a.level_ptr)), block_ptr(detail::pointers_in(a.block_ptr)),
        col(a.col.data()), val(a.val.data()) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + stored).
  brc_view(I rows, I cols, int chunk, int width,
           brc_arrays<V, I, O> const& a) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("perm", perm, static_cast<std::size_t>(rows));
    f("len", len, static_cast<std::size_t>(rows));
    f("level_rows", level_rows, static_cast<std::size_t>(levels));
    f("level_ptr", level_ptr, level_ptr || levels > 0 ? static_cast<std::size_t>(levels) + 1 : 0);
    f("block_ptr", block_ptr, block_ptr || blocks > 0 ? static_cast<std::size_t>(blocks) + 1 : 0);
    f("col", col, static_cast<std::size_t>(stored));
    f("val", val, static_cast<std::size_t>(stored));
  }

  /// Block b of level t. Inlined: kernels may not leave it to the linker.
  [[gnu::always_inline]] detail::brc_block block(std::size_t t, std::size_t b) const {
    std::size_t const first =
        (b - static_cast<std::size_t>(level_ptr[t])) * static_cast<std::size_t>(chunk);
    std::size_t const left = static_cast<std::size_t>(level_rows[t]) - first;
    std::size_t const n =
        left < static_cast<std::size_t>(chunk) ? left : static_cast<std::size_t>(chunk);
    return {first, n, static_cast<std::size_t>(block_ptr[b + 1] - block_ptr[b]) / n,
            static_cast<std::size_t>(block_ptr[b]), t * static_cast<std::size_t>(width)};
  }
  /// The level of block b.
  [[gnu::always_inline]] std::size_t level_of(std::size_t b) const {
    std::size_t lo = 0;
    for (auto hi = static_cast<std::size_t>(levels); hi - lo > 1;) {
      std::size_t const mid = (lo + hi) / 2;
      if (static_cast<std::size_t>(level_ptr[mid]) <= b)
        lo = mid;
      else
        hi = mid;
    }
    return lo;
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;
};

struct brc_options {
  int chunk = 32;   ///< rows of a block
  int width = 128;  ///< entries of a row in a block, at most
  double limit = 8; ///< times the bytes of csr, above which a matrix is refused

  template <class F>
  void fields(F&& f) {
    f("chunk", chunk);
    f("width", width);
    f("limit", limit);
  }
  static constexpr char const* drawn = "chunk=2:width=2";
  static constexpr char const* variants[] = {"chunk=1:width=1", "chunk=7:width=3",
                                             "chunk=64:width=1000"};
};

template <class V, class I = std::int32_t, class O = I>
struct brc {
  using options = brc_options;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int chunk = 1;
  int width = 1;
  array<I> perm, len, level_rows, level_ptr;
  array<O> block_ptr;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  brc() = default;
  static brc from_csr(csr_view<V, I, O> a, brc_options = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  brc_view<V, I, O> view() const& {
    return detail::numbered(brc_view<V, I, O>{unchecked, rows, cols, nnz, chunk, width, arrays()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const;
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.perm, m.len, m.level_rows, m.level_ptr, m.block_ptr, m.col, m.val);
  }
  friend bool operator==(brc const&, brc const&) = default;

private:
  brc_arrays<V, I, O> arrays() const {
    return {perm, len, level_rows, level_ptr, block_ptr, col, val};
  }
};

namespace detail {

constexpr int most_chunk = 1024; // rows of a block, whose sums a kernel keeps

} // namespace detail

} // namespace tulle
