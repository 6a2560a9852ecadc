// SPDX-License-Identifier: Apache-2.0

/// The strips of cmrs out of the rows of csr: in the order of csr, sorted by column, or padded.
#pragma once
#include "tulle/format/csr.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace tulle {

/// How strips are laid out.
struct cmrs_layout {
  int height = 1;              ///< rows of a strip
  bool sorted = false;         ///< a strip's entries by column, not by row
  int warp = 0;                ///< slots of a warp; 0 where strips are not padded
  int modulo = 0;              ///< most entries of one row in a warp, where padded
  constexpr int bits() const { // of a row in a strip
    int n = 0;
    while (1 << n < height)
      ++n;
    return n;
  }
  friend bool operator==(cmrs_layout const&, cmrs_layout const&) = default;
};

namespace detail {

constexpr int most_strip_rows = 64;

template <class I, class O>
struct strip_entry {
  I word;
  O at; // which of the strip's entries it is
};

/// n entries of rows that follow each other, stably by their columns, of [least, most], into one of
/// the two; returns which.
template <class O, class Entry, class I, class Column>
Entry* sort_by_column(Entry* from, Entry* to, std::size_t n, I least, I most,
                      Column const& column) {
  using U = std::make_unsigned_t<I>;
  constexpr std::size_t few = 32; // entries below which clearing the counters would cost most
  constexpr int most_bits = 8;    // of a digit
  if (n < few) {
    for (std::size_t k = 1; k < n; ++k)
      for (std::size_t j = k; j > 0 && column(from[j]) < column(from[j - 1]); --j)
        std::swap(from[j], from[j - 1]);
    return from;
  }
  // By digits of the column; rows are in order to begin with. Merging the rows pair by pair took
  // longer where they differ, for the wrong guesses.
  int const width = static_cast<int>(std::bit_width(static_cast<U>(most - least)));
  int const digits = (width + most_bits - 1) / most_bits;
  int const digit = digits == 0 ? 0 : (width + digits - 1) / digits;
  U const mask = static_cast<U>((U(1) << digit) - 1);
  for (int shift = 0; shift < width; shift += digit, std::swap(from, to)) {
    auto const bucket = [=](Entry const& e) {
      return static_cast<U>(column(e) - least) >> shift & mask;
    };
    O next[1 << most_bits];
    std::fill_n(next, mask + 1, O(0));
    for (std::size_t k = 0; k < n; ++k)
      ++next[bucket(from[k])];
    O sum = 0;
    for (U b = 0; b <= mask; ++b)
      sum = static_cast<O>(sum + std::exchange(next[b], sum));
    for (std::size_t k = 0; k < n; ++k)
      to[next[bucket(from[k])]++] = from[k];
  }
  return from;
}

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
  std::copy_n(a.val + base, n, from); // in their order: they come out in another
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
    for (; col < end; ++col) { // a neighbour's column: its x is at hand
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

} // namespace detail
} // namespace tulle
