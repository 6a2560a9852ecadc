// SPDX-License-Identifier: Apache-2.0

/// CSR-Adaptive: csr as it is, and its rows in blocks of about as many entries: neighbours while
/// they have no more than `entries` together, a longer row alone, and one of more than four times
/// as many in several blocks.
///
///     1 . 2 .      entries = 2     row_ptr     0     2   3   4       7
///     . 3 . .                      col         0 2   1   3   0 1 2
///     . . . 4                      val         1 2   3   4   5 6 7
///     5 6 7 .                      row_block   0     1       3       4
///
/// A row in several blocks is named once for each. No block has more rows than `entries`, nor goes
/// beyond a multiple of 16384 rows: what lies between those can be cut by itself.
///
/// Good for   rows of different lengths whose neighbours matter: work in equal shares, csr left as
/// it is, entries read in order.
/// Bad for    single long rows among short ones: they end blocks before these are full.
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
#include "tulle/format/detail/row_lengths.hpp"

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
  csr_adaptive_view(unchecked_t, csr_view<V, I, O, S> const& a, int entries, I blocks,
                    I const* row_block)
      : rows(a.rows), cols(a.cols), nnz(a.nnz), entries(entries), blocks(blocks),
        row_ptr(a.row_ptr), row_block(row_block), col(a.col), val(a.val) {}
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

constexpr int most_block_entries = 4096; // of double, 32 KiB: what a GPU has on a chip for a block
constexpr int long_row_blocks = 4;       // a block takes so many times as much of a long row
constexpr std::size_t block_stretch = std::size_t{1} << 14; // rows that are cut by themselves

inline void check_block_entries(int entries) {
  if (entries < 1 || entries > most_block_entries)
    fail(errc::unsupported, "csr_adaptive: option entries is %d, expected 1 to %d", entries,
         most_block_entries);
}

/// The blocks that a row of that many entries takes, where it does not share one.
template <class O>
constexpr O blocks_of_row(O length, int entries) {
  O const piece = static_cast<O>(entries) * long_row_blocks;
  return length <= piece ? O(1) : static_cast<O>((length - 1) / piece + 1);
}

/// The row behind the block that begins with row i, which ends at `end` or before.
template <class O>
constexpr std::size_t block_end(O const* row_ptr, std::size_t i, std::size_t end, int entries) {
  auto const most = static_cast<std::size_t>(entries);
  std::size_t lo = i + 1; // the last row end that may be the block's is lo or behind it
  std::size_t hi = end - i < most ? end : i + most;
  while (lo < hi) {
    std::size_t const mid = lo + (hi - lo + 1) / 2;
    if (static_cast<std::size_t>(row_ptr[mid] - row_ptr[i]) <= most)
      lo = mid;
    else
      hi = mid - 1;
  }
  return lo;
}

/// f(i, blocks) for each block that begins in rows [i, end), or for all of those that have row i.
template <class O, class F>
void each_row_block(O const* row_ptr, std::size_t i, std::size_t end, int entries, F&& f) {
  while (i < end) {
    std::size_t const next = block_end(row_ptr, i, end, entries);
    f(i, next == i + 1 ? static_cast<std::size_t>(
                             blocks_of_row(static_cast<O>(row_ptr[i + 1] - row_ptr[i]), entries))
                       : std::size_t{1});
    i = next;
  }
}

} // namespace detail

template <class V, class I, class O, space S>
csr_adaptive_view<V, I, O, S>::csr_adaptive_view(csr_view<V, I, O> const& a, int entries,
                                                 std::span<I const> row_block) requires(S ==
                                                                                        space::host)
    : csr_adaptive_view(unchecked, a, entries, I(0),
                        row_block.empty() ? nullptr : row_block.data()) {
  if (!row_block.empty())
    blocks = narrow<I>(row_block.size() - 1, "number of blocks");
  validate();
}

template <class V, class I, class O, space S>
void csr_adaptive_view<V, I, O, S>::validate() const {
  as_csr().validate();
  if (entries < 1 || entries > detail::most_block_entries)
    fail(errc::bad_structure, "csr_adaptive: blocks of %d entries, expected 1 to %d", entries,
         detail::most_block_entries);
  if (blocks < 0)
    fail(errc::bad_structure, "csr_adaptive: %lld blocks; that may not be negative",
         static_cast<long long>(blocks));
  auto const n = static_cast<std::size_t>(blocks);
  detail::check_pointers("csr_adaptive: row_block", row_block, n, rows);
  for (std::size_t b = 0; b < n;) {
    I const i = row_block[b];
    std::size_t again = 0; // how often row i is named
    while (b < n && row_block[b] == i) {
      ++again;
      ++b;
    }
    I const end = row_block[b];
    if (i == end)
      fail(errc::bad_structure, "csr_adaptive: row_block[%zu] is %lld, but there are no more rows",
           b - 1, static_cast<long long>(i));
    O const length = row_ptr[end] - row_ptr[i];
    if (end == i + 1) {
      if (auto const wanted = detail::blocks_of_row(length, entries);
          std::cmp_not_equal(again, wanted))
        fail(errc::bad_structure, "csr_adaptive: row %lld of %lld entries has %zu blocks, not %lld",
             static_cast<long long>(i), static_cast<long long>(length), again,
             static_cast<long long>(wanted));
    } else if (again != 1 || std::cmp_greater(end - i, entries) ||
               std::cmp_greater(length, entries)) {
      fail(errc::bad_structure,
           "csr_adaptive: block %zu has %lld rows of %lld entries, expected up to %d", b - 1,
           static_cast<long long>(end - i), static_cast<long long>(length), entries);
    }
  }
}

template <class V, class I, class O>
csr_adaptive<V, I, O> csr_adaptive<V, I, O>::from_csr(csr_view<V, I, O> a, csr_adaptive_options o,
                                                      cpu const& where) {
  detail::check_block_entries(o.entries);
  csr<V, I, O> c = csr<V, I, O>::from_csr(a, {}, where);
  auto const n = static_cast<std::size_t>(c.rows);
  std::size_t const stretches = (n + detail::block_stretch - 1) / detail::block_stretch;
  auto const in_stretch = [&](std::size_t s, auto&& f) {
    std::size_t const first = s * detail::block_stretch;
    detail::each_row_block(c.row_ptr.data(), first, std::min(n, first + detail::block_stretch),
                           o.entries, f);
  };
  array<O> const first = detail::pointers_of<O>(
      stretches,
      [&](std::size_t s) {
        O count = 0;
        in_stretch(s, [&](std::size_t, std::size_t k) {
          count = static_cast<O>(count + static_cast<O>(k));
        });
        return count;
      },
      where);
  csr_adaptive b;
  b.rows = c.rows;
  b.cols = c.cols;
  b.entries = o.entries;
  auto const blocks = static_cast<std::size_t>(first[stretches]);
  narrow<I>(blocks, "number of blocks");
  b.row_block = array<I>(blocks + 1, where.memory);
  int const parts = detail::parts_for(n, where.threads);
  detail::parallel(parts, [&](int part) {
    for (std::size_t s = detail::split(stretches, part, parts),
                     end = detail::split(stretches, part + 1, parts);
         s < end; ++s) {
      I* to = b.row_block.data() + first[s];
      in_stretch(s, [&](std::size_t i, std::size_t k) {
        std::fill_n(to, k, static_cast<I>(i));
        to += k;
      });
    }
  });
  b.row_block[blocks] = c.rows;
  b.row_ptr = std::move(c.row_ptr);
  b.col = std::move(c.col);
  b.val = std::move(c.val);
  return b;
}

template <class V, class I, class O>
void csr_adaptive<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
  detail::check_arrays("csr_adaptive", *this);
  detail::refill_rows("csr_adaptive", rows, cols, view().nnz, a, row_ptr.data(), col.data(),
                      val.data(), where);
}

} // namespace tulle
