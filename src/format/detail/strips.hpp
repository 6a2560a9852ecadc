// SPDX-License-Identifier: Apache-2.0

/// The strips of cmrs out of the rows of csr: in the order of csr, sorted by column, or padded.
#pragma once
#include "tulle/format/cmrs.hpp"

#include "format/detail/check_room.hpp"
#include "format/detail/copy.hpp"
#include "format/detail/sort_by_column.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace tulle::detail {

constexpr int most_strip_rows = 64;

/// The layout that options ask for; errc::unsupported for one that there is not.
inline cmrs_layout layout_of(cmrs_options const& o) {
  auto const check = [](char const* name, int value, int most) {
    if (value < 1 || value > most || !std::has_single_bit(static_cast<unsigned>(value)))
      fail(errc::unsupported, "cmrs: option %s is %d, expected a power of two from 1 to %d", name,
           value, most);
  };
  check("height", o.height, most_strip_rows);
  if (!o.padded)
    return {o.height, o.sorted, 0, 0};
  check("warp", o.warp, most_strip_rows);
  check("modulo", o.modulo, o.warp);
  return {o.height, false, o.warp, o.modulo};
}

/// Words of `cols` columns and a row in strip fit an I, its sign left for padding.
template <class I>
void check_column_words(I cols, cmrs_layout const& layout) {
  if (cols > 0 && (cols - 1) > (std::numeric_limits<I>::max() >> layout.bits()))
    fail(
        errc::overflow, "cmrs: %lld columns and %d bits for the row in a strip of %d do not fit %d",
        static_cast<long long>(cols), layout.bits(), layout.height, std::numeric_limits<I>::digits);
}

template <class I, class O>
struct strip_entry {
  I word;
  O at; // which of the strip's entries it is
};

/// Where threads sort strips of up to `most` entries, each in its own part.
template <class V, class I, class O>
struct strip_scratch {
  array<strip_entry<I, O>> entries; // twice
  array<V> val;
  std::size_t most;
  strip_scratch(std::size_t most, std::size_t threads, cpu const& where)
      : entries(checked_mul(2 * most, threads, "cmrs"), where.memory),
        val(checked_mul(most, threads, "cmrs"), where.memory), most(most) {}
};

/// Rows [first, last) as one strip sorted by column. out_col and out_val may be those of a. Rows
/// alike that follow one another are sorted once, and values stay where they are. ms to convert fem
/// 60000, two threads of Zen 3: 23.3 with each row by itself and its values, 14.7 so; others as
/// before.
template <class V, class I, class O>
void write_sorted(csr_view<V, I, O> const& a, std::size_t first, std::size_t last, int bits,
                  strip_scratch<V, I, O>& scratch, int part, I* out_col, V* out_val) {
  auto const base = static_cast<std::size_t>(a.row_ptr[first]);
  auto const n = static_cast<std::size_t>(a.row_ptr[last]) - base;
  auto const mine = static_cast<std::size_t>(part) * scratch.most;
  auto* const entries = scratch.entries.data() + 2 * mine;
  V* const from = scratch.val.data() + mine;
  std::copy_n(a.val + base, n, from); // since they are written in another order
  auto const length = [&](std::size_t i) {
    return static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]);
  };
  auto const are_alike = [&](std::size_t i, std::size_t next) {
    I const* const one = a.col + a.row_ptr[i];
    I const* const other = a.col + a.row_ptr[next];
    return length(next) == length(i) && one[0] == other[0] && same(one, other, length(i));
  };
  I least = std::numeric_limits<I>::max();
  I most = 0;
  std::uint8_t alike[most_strip_rows]; // rows from that one on
  auto* to = entries;
  for (std::size_t i = first, next; i < last; i = next) {
    next = i + 1;
    std::size_t const count = length(i);
    if (count == 0)
      continue;
    while (next < last && are_alike(i, next))
      ++next;
    I const* const col = a.col + a.row_ptr[i];
    least = std::min(least, col[0]);
    most = std::max(most, col[count - 1]);
    alike[i - first] = static_cast<std::uint8_t>(next - i);
    auto const at = static_cast<O>(static_cast<std::size_t>(a.row_ptr[i]) - base);
    for (std::size_t k = 0; k < count; ++k)
      *to++ = {static_cast<I>(col[k] << bits | static_cast<I>(i - first)),
               static_cast<O>(at + static_cast<O>(k))};
  }
  auto const distinct = static_cast<std::size_t>(to - entries);
  auto const* const sorted =
      sort_by_column<O>(entries, entries + scratch.most, distinct, least, most,
                        [=](strip_entry<I, O> const& e) { return static_cast<I>(e.word >> bits); });
  I* col = out_col + base;
  V* val = out_val + base;
  if (distinct == n) {
    for (std::size_t k = 0; k < n; ++k) {
      col[k] = sorted[k].word;
      val[k] = from[sorted[k].at];
    }
    return;
  }
  for (auto const* e = sorted; e != sorted + distinct; ++e) {
    auto const row = static_cast<std::size_t>(e->word & ((I(1) << bits) - 1));
    std::size_t const stride = length(first + row);
    for (std::size_t r = 0; r < alike[row]; ++r) {
      *col++ = static_cast<I>(e->word + static_cast<I>(r));
      *val++ = from[static_cast<std::size_t>(e->at) + r * stride];
    }
  }
}

/// Warps of the strip of rows [first, last): as many as its entries fill, or as its longest row
/// needs.
template <class O>
constexpr std::size_t warps_of(O const* row_ptr, std::size_t first, std::size_t last,
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
template <class V, class I, class O, space S>
constexpr void write_warps(csr_view<V, I, O, S> const& a, std::size_t first, std::size_t last,
                           std::size_t warps, cmrs_layout const& layout, I* col, V* val) {
  int const bits = layout.bits();
  struct share {
    std::size_t next; // entry of the row
    std::size_t each; // to every warp
    std::size_t more; // warps that get one more, from warp `first` on
    std::size_t first;
  };
  share shares[most_strip_rows] = {};
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
    for (; col < end; ++col) { // the column of the entry before, whose x is in the cache
      *col = static_cast<I>(word | std::numeric_limits<I>::min());
      *val++ = V{};
    }
  }
}

/// errc::unsupported for padded strips that take too much of csr's bytes, errc::overflow where
/// their slots do not fit.
template <class V, class I, class O>
void check_strip_sizes(std::size_t strips, std::size_t stored, std::size_t csr_bytes,
                       double limit) {
  check_room("cmrs",
             static_cast<double>(stored) * (sizeof(V) + sizeof(I)) +
                 static_cast<double>(strips + 1) * sizeof(O),
             csr_bytes, limit);
  narrow<O>(stored, "number of slots");
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
    check_strip_sizes<V, I, O>(strips, stored, bytes_of(a), limit);
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
  strip_scratch<V, I, O> scratch(longest, static_cast<std::size_t>(parts), where);
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(strip_ptr, strips, part + 1, parts);
    for (std::size_t s = split_by_entries(strip_ptr, strips, part, parts); s < end; ++s) {
      std::size_t const last = std::min(n, (s + 1) * h);
      if (layout.sorted) {
        write_sorted(a, s * h, last, bits, scratch, part, col, val);
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

} // namespace tulle::detail
