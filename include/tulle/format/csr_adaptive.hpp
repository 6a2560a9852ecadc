// SPDX-License-Identifier: Apache-2.0

/// CSR-Adaptive: csr, and blocks of its rows with about equal numbers of entries: neighbouring rows
/// with up to `entries` together, a longer row alone, and a row of more than four times as many in
/// several blocks.
///
///     1 . 2 .      entries = 2     row_ptr     0     2   3   4       7
///     . 3 . .                      col         0 2   1   3   0 1 2
///     . . . 4                      val         1 2   3   4   5 6 7
///     5 6 7 .                      row_block   0     1       3       4
///
/// A row in several blocks is named once for each. No block has more rows than `entries`, nor
/// crosses a multiple of 16384 rows, so that stretches between these can be divided independently.
///
/// Good for   rows of different lengths with similar neighbours: equal shares of work, unchanged
/// csr arrays, entries read in order.
/// Bad for    single long rows among short ones: they end blocks early.
/// Space      (V + I) * nnz + O * rows + I * blocks, blocks about nnz / entries.
/// From       Liu, thesis 2015, sec. 5.4.8; Greathouse & Daga, SC 2014; Daga & Greathouse, HiPC
/// 2015. Unlike theirs, the parts of a long row are joined in order.
///
/// Invariants (validate() checks all of them)
///   row_ptr, col and val are a csr; 1 <= entries <= 4096
///   row_block[0] == 0, non-decreasing, last == rows
///   a block of several rows has no more entries, and no more rows, than `entries`
///   a row of n > 4 * entries is a block n / (4 * entries) times, rounded up; others once
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle {

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct csr_adaptive_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int entries = 1; ///< of a block of several rows, at most
  I blocks = 0;
  O const* row_ptr = nullptr;   ///< rows + 1; may be null when rows == 0
  I const* row_block = nullptr; ///< blocks + 1; may be null when rows == 0
  I const* col = nullptr;       ///< nnz
  V const* val = nullptr;       ///< nnz
  std::uint64_t serial = 0;     ///< of the owner's pattern; 0: borrowed arrays

  csr_adaptive_view() = default;
  csr_adaptive_view(unchecked_t, csr_view<V, I, O, S> const& a, int entries_, I blocks_,
                    I const* row_block_)
      : rows(a.rows), cols(a.cols), nnz(a.nnz), entries(entries_), blocks(blocks_),
        row_ptr(a.row_ptr), row_block(row_block_), col(a.col), val(a.val) {}
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + nnz).
  csr_adaptive_view(csr_view<V, I, O> const& a, int entries,
                    std::span<I const> row_block) requires(S == space::host);

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    f("row_ptr", row_ptr, row_ptr || rows > 0 ? static_cast<std::size_t>(rows) + 1 : 0);
    f("row_block", row_block, row_block || blocks > 0 ? static_cast<std::size_t>(blocks) + 1 : 0);
    f("col", col, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const { return as_csr().to_csr(where); }
  /// The same without blocks.
  csr_view<V, I, O, S> as_csr() const { return {unchecked, rows, cols, nnz, row_ptr, col, val}; }
};

struct csr_adaptive_options {
  int entries = 2048; ///< of a block of several rows, at most

  template <class F>
  void fields(F&& f) {
    f("entries", entries);
  }
  static constexpr char const* drawn = "entries=2";
  static constexpr char const* variants[] = {"entries=1", "entries=5", "entries=64"};
};

template <class V, class I = std::int32_t, class O = I>
struct csr_adaptive {
  using options = csr_adaptive_options;

  I rows = 0;
  I cols = 0;
  int entries = 1;
  array<O> row_ptr;
  array<I> row_block;
  array<I> col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  csr_adaptive() = default;
  static csr_adaptive from_csr(csr_view<V, I, O> a, csr_adaptive_options = {},
                               cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  csr_adaptive_view<V, I, O> view() const& {
    return detail::numbered(
        csr_adaptive_view<V, I, O>{
            unchecked,
            csr_view<V, I, O>(unchecked, rows, cols, static_cast<O>(val.size()), row_ptr.data(),
                              col.data(), val.data()),
            entries, static_cast<I>(row_block.empty() ? 0 : row_block.size() - 1),
            row_block.data()},
        serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const {
    csr_adaptive_view<V, I, O>(csr_view<V, I, O>(rows, cols, row_ptr, col, val), entries,
                               row_block);
  }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.row_ptr, m.row_block, m.col, m.val);
  }
  friend bool operator==(csr_adaptive const&, csr_adaptive const&) = default;
};

namespace detail {

constexpr int most_block_entries = 4096; // 32 KiB of double, in the shared memory of a GPU

constexpr int long_row_blocks = 4; // a block takes so many times as much of a long row

} // namespace detail

} // namespace tulle
