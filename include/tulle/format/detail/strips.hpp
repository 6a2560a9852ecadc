// SPDX-License-Identifier: Apache-2.0

/// The strips of cmrs out of the rows of csr: in the order of csr, sorted by column, or padded.
#pragma once
#include "tulle/format/csr.hpp"

#include <bit>
#include <limits>

namespace tulle {

/// How strips are laid out.
struct cmrs_layout {
  int height = 1;      ///< rows of a strip
  bool sorted = false; ///< a strip's entries by column, not by row
  int warp = 0;        ///< slots of a warp; 0 where strips are not padded
  int modulo = 0;      ///< most entries of one row in a warp, where padded
  int bits() const { return std::countr_zero(static_cast<unsigned>(height)); }
  friend bool operator==(cmrs_layout const&, cmrs_layout const&) = default;
};

namespace detail {

constexpr int most_strip_rows = 64;

/// A sorted run of entries: what is left of a row of csr, or of a run that was merged before.
template <class V, class I>
struct row_run {
  I const* col;
  I const* end;
  V const* val;
  int bits;
  I row; // in strip
  bool done() const { return col == end; }
  I word() const { return static_cast<I>(*col << bits | row); }
  V value() const { return *val; }
  void step() { ++col, ++val; }
};
template <class V, class I>
struct merged_run {
  struct entry {
    V val;
    I word;
  };
  entry const* at;
  entry const* end;
  bool done() const { return at == end; }
  I word() const { return at->word; }
  V value() const { return at->val; }
  void step() { ++at; }
};

/// put(word, value) for the entries of two runs in order. A branch on the order is guessed right
/// where rows resemble one another.
template <class Run, class Put>
void merge_runs(Run a, Run b, Put put) {
  while (!a.done() && !b.done()) {
    if (b.word() < a.word()) {
      put(b.word(), b.value());
      b.step();
    } else {
      put(a.word(), a.value());
      a.step();
    }
  }
  for (; !a.done(); a.step())
    put(a.word(), a.value());
  for (; !b.done(); b.step())
    put(b.word(), b.value());
}

/// Rows [first, last) as one strip sorted by column. out_col and out_val may be those of a; scratch
/// has room for the strip twice, `room` entries each.
template <class V, class I, class O>
void write_sorted(csr_view<V, I, O> const& a, std::size_t first, std::size_t last, int bits,
                  typename merged_run<V, I>::entry* scratch, std::size_t room, I* out_col,
                  V* out_val) {
  using merged = merged_run<V, I>;
  using entry = typename merged::entry;
  // Neighbours are merged until one is left: rows first, all of them before anything is written.
  std::size_t run[most_strip_rows + 1]; // where each begins, from the strip's first entry
  std::size_t runs = 0;
  auto const base = static_cast<std::size_t>(a.row_ptr[first]);
  auto const row = [&](std::size_t i) {
    auto const k = static_cast<std::size_t>(a.row_ptr[std::min(i, last)]);
    auto const end = static_cast<std::size_t>(a.row_ptr[std::min(i + 1, last)]);
    return row_run<V, I>{a.col + k, a.col + end, a.val + k, bits, static_cast<I>(i - first)};
  };
  entry* from = scratch;
  entry* to = scratch + room;
  entry* at = from;
  for (std::size_t i = first; i < last; i += 2) {
    run[runs++] = static_cast<std::size_t>(at - from);
    merge_runs(row(i), row(i + 1), [&](I word, V const& v) { *at++ = {v, word}; });
  }
  auto const end = [&](std::size_t r) { return r < runs ? from + run[r] : at; };
  while (runs > 2) {
    entry* next = to;
    std::size_t left = 0;
    for (std::size_t r = 0; r < runs; r += 2) {
      merged const one{end(r), end(r + 1)};
      merged const other{end(r + 1), end(r + 2)};
      run[left++] = static_cast<std::size_t>(next - to);
      merge_runs(one, other, [&](I word, V const& v) { *next++ = {v, word}; });
    }
    runs = left;
    at = next;
    std::swap(from, to);
  }
  std::size_t k = base;
  merge_runs(merged{from, end(1)}, merged{end(1), at}, [&](I word, V const& v) {
    out_col[k] = word;
    out_val[k++] = v;
  });
}

/// Warps of the strip of rows [first, last): as many as its entries fill, or as its longest row
/// needs.
template <class O>
std::size_t warps_of(O const* row_ptr, std::size_t first, std::size_t last,
                     cmrs_layout const& layout) {
  auto const over = [](std::size_t n, int d) {
    auto const by = static_cast<std::size_t>(d);
    return n / by + (n % by != 0);
  };
  std::size_t warps = over(static_cast<std::size_t>(row_ptr[last] - row_ptr[first]), layout.warp);
  for (std::size_t i = first; i < last; ++i)
    warps =
        std::max(warps, over(static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]), layout.modulo));
  return warps;
}

/// The same rows as `warps` warps. The strip's entries, row after row, are counted out to the warps
/// in turn: none gets more than `warp` of the strip or `modulo` of a row. Then each row takes the
/// places it has in order.
template <class V, class I, class O>
void write_warps(csr_view<V, I, O> const& a, std::size_t first, std::size_t last, std::size_t warps,
                 cmrs_layout const& layout, I* col, V* val) {
  int const bits = layout.bits();
  struct share {
    std::size_t next; // entry of the row
    std::size_t each; // to every warp
    std::size_t more; // warps that get one more, from warp `first` on
    std::size_t first;
  };
  share shares[most_strip_rows];
  std::size_t before = 0; // entries of the rows above
  for (std::size_t i = first; i < last && warps > 0; ++i) {
    auto const length = static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]);
    shares[i - first] = {static_cast<std::size_t>(a.row_ptr[i]), length / warps, length % warps,
                         before % warps};
    before += length;
  }
  for (std::size_t w = 0; w < warps; ++w) {
    I* const end = col + layout.warp;
    I word = 0;
    for (std::size_t r = 0; r < last - first; ++r) {
      share& row = shares[r];
      std::size_t const turn = w >= row.first ? w - row.first : w + warps - row.first;
      for (std::size_t left = row.each + (turn < row.more); left > 0; --left, ++row.next) {
        word = static_cast<I>(a.col[row.next] << bits | static_cast<I>(r));
        *col++ = word;
        *val++ = a.val[row.next];
      }
    }
    for (; col < end; ++col) { // a neighbour's column: its x is at hand
      *col = static_cast<I>(word | std::numeric_limits<I>::min());
      *val++ = V{};
    }
  }
}

/// strip_ptr of a canonical matrix. Padded: errc::unsupported beyond the limit, before anything is
/// allocated.
template <class V, class I, class O>
array<O> strips_of(csr_view<V, I, O> const& a, cmrs_layout const& layout, double limit,
                   cpu const& where) {
  auto const n = static_cast<std::size_t>(a.rows);
  auto const h = static_cast<std::size_t>(layout.height);
  std::size_t const strips = (n + h - 1) / h;
  int const parts = parts_for(n, where.threads);
  auto const row = [&](std::size_t s) { return std::min(n, s * h); };
  auto const slots = [&](std::size_t s) {
    return warps_of(a.row_ptr, row(s), row(s + 1), layout) * static_cast<std::size_t>(layout.warp);
  };
  if (layout.warp != 0) {
    std::size_t stored = 0;
    parallel(parts, [&](int part) {
      std::size_t mine = 0;
      for (std::size_t s = split(strips, part, parts); s < split(strips, part + 1, parts); ++s)
        mine += slots(s);
      __atomic_fetch_add(&stored, mine, __ATOMIC_RELAXED);
    });
    check_room("cmrs",
               static_cast<double>(stored) * (sizeof(V) + sizeof(I)) +
                   static_cast<double>(strips + 1) * sizeof(O),
               bytes_of(a), limit);
    narrow<O>(stored, "number of slots");
  }
  array<O> ptr(strips + 1, where.memory);
  ptr[0] = 0;
  parallel(parts, [&](int part) {
    for (std::size_t s = split(strips, part, parts); s < split(strips, part + 1, parts); ++s)
      ptr[s + 1] = layout.warp != 0 ? static_cast<O>(slots(s)) : a.row_ptr[row(s + 1)];
  });
  if (layout.warp != 0)
    for (std::size_t s = 0; s < strips; ++s)
      ptr[s + 1] = static_cast<O>(ptr[s + 1] + ptr[s]);
  return ptr;
}

/// The strips of a canonical matrix, whose own arrays col and val may be unless padded.
template <class V, class I, class O>
void write_strips(csr_view<V, I, O> const& a, cmrs_layout const& layout, O const* strip_ptr, I* col,
                  V* val, cpu const& where) {
  if (a.nnz == 0)
    return;
  auto const n = static_cast<std::size_t>(a.rows);
  auto const h = static_cast<std::size_t>(layout.height);
  std::size_t const strips = (n + h - 1) / h;
  int const parts = parts_for(static_cast<std::size_t>(a.nnz), where.threads);
  int const bits = layout.bits();
  std::size_t longest = 0;
  if (layout.sorted)
    for (std::size_t s = 0; s < strips; ++s)
      longest = std::max(longest, static_cast<std::size_t>(strip_ptr[s + 1] - strip_ptr[s]));
  array<typename merged_run<V, I>::entry> scratch(
      checked_mul(2 * longest, static_cast<std::size_t>(parts), "cmrs"), where.memory);
  parallel(parts, [&](int part) {
    auto* const mine = scratch.data() + 2 * longest * static_cast<std::size_t>(part);
    std::size_t const end = split_by_entries(strip_ptr, strips, part + 1, parts);
    for (std::size_t s = split_by_entries(strip_ptr, strips, part, parts); s < end; ++s) {
      std::size_t const last = std::min(n, (s + 1) * h);
      if (layout.sorted) {
        write_sorted(a, s * h, last, bits, mine, longest, col, val);
        continue;
      }
      if (layout.warp == 0) {
        for (std::size_t i = s * h; i < last; ++i)
          for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
            col[k] = static_cast<I>(a.col[k] << bits | static_cast<I>(i - s * h));
            val[k] = a.val[k];
          }
        continue;
      }
      auto const slots = static_cast<std::size_t>(strip_ptr[s + 1] - strip_ptr[s]);
      write_warps(a, s * h, last, slots / static_cast<std::size_t>(layout.warp), layout,
                  col + strip_ptr[s], val + strip_ptr[s]);
    }
  });
}

} // namespace detail
} // namespace tulle
