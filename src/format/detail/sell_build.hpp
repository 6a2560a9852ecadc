// SPDX-License-Identifier: Apache-2.0

/// csr to sell: how rows are sorted and split, and how the columns of each chunk are stored.
#pragma once
#include "tulle/format/sell.hpp"

#include "format/detail/check_room.hpp"
#include "format/detail/lanes.hpp"
#include "format/detail/sell_values.hpp"

namespace tulle::detail {

template <class V, class I, class O>
void sell_values(sell<V, I, O>& b, csr_view<V, I, O> const& a, cpu const& where);
template <class V, class I, class O>
bool sell_has_columns(sell<V, I, O> const& b, csr_view<V, I, O> const& a, cpu const& where);

inline void check_sell_options(sell_options const& o) {
  if (o.chunk < 1 || o.chunk > 64 || (o.chunk & (o.chunk - 1)) != 0)
    fail(errc::unsupported, "sell: option chunk is %d, expected a power of two up to 64", o.chunk);
  if (o.sigma < 1 || (o.sigma > 1 && o.sigma % o.chunk != 0))
    fail(errc::unsupported, "sell: option sigma is %d, expected 1 or a multiple of chunk, %d",
         o.sigma, o.chunk);
  if (o.split < 0)
    fail(errc::unsupported, "sell: option split is %d, expected 0 or more", o.split);
}

/// Whether a window of so many rows is sorted: `plain` and `sorted` are its steps, in chunks of
/// `wide`, without and with it.
template <class V, class I>
constexpr bool sell_pays(std::size_t plain, std::size_t sorted, std::size_t wide,
                         std::size_t rows) {
  return (plain - sorted) * wide * (sizeof(V) + 2) > rows * sizeof(I);
}

/// errc::unsupported for a sell of `bytes` beside so many elements of its four large arrays where
/// that is too much, errc::overflow where those do not fit.
template <class V, class I, class O>
void check_sell_sizes(sell_options const& o, std::size_t bytes, std::size_t rows, O nnz,
                      std::size_t stored, std::size_t cols, std::size_t shorts,
                      std::size_t masked) {
  check_room("sell",
             static_cast<double>(bytes) + static_cast<double>(stored) * sizeof(V) +
                 static_cast<double>(cols) * sizeof(I) + 2. * static_cast<double>(shorts) +
                 8. * static_cast<double>(masked),
             static_cast<std::size_t>(static_cast<double>(nnz) * (sizeof(V) + sizeof(I))) +
                 (rows + 1) * sizeof(O),
             o.limit);
  narrow<O>(stored, "number of entries with padding");
  narrow<O>(cols, "number of columns with padding");
  narrow<I>(masked, "number of masks");
}

/// Builds a sell: first which rows go where, then the shape of each chunk, then the arrays.
template <class V, class I, class O>
struct sell_builder {
  csr_view<V, I, O> a;
  sell_options o;
  cpu where;
  sell<V, I, O> b;
  std::size_t places = 0, chunks = 0, wide = 0;
  std::size_t longest = 0; // of the rows in chunks

  // In kind while building: offsets as the chunk before.
  static constexpr std::uint8_t repeats = 0x80;

  std::size_t length(I r) const {
    return static_cast<std::size_t>(a.row_ptr[r + 1] - a.row_ptr[r]);
  }
  I row(std::size_t place) const { return b.perm.empty() ? static_cast<I>(place) : b.perm[place]; }
  int parts_of(std::size_t n) const {
    return static_cast<int>(
        std::min<std::size_t>(static_cast<std::size_t>(parts_for(
                                  static_cast<std::size_t>(a.nnz) + places, where.threads)),
                              n + (n == 0)));
  }

  /// Takes the long rows out; perm is filled where there are some, in the order of rows.
  void split_rows() {
    auto const n = static_cast<std::size_t>(a.rows);
    std::size_t const most = most_length(o.split, n, static_cast<std::size_t>(a.nnz));
    int const parts = parts_for(n, where.threads);
    struct found {
      std::size_t longs, entries, longest;
    };
    array<found> of(static_cast<std::size_t>(parts) + 1, where.memory);
    parallel(parts, [&](int part) {
      found f{0, 0, 0};
      for (std::size_t i = split(n, part, parts); i < split(n, part + 1, parts); ++i) {
        std::size_t const l = length(static_cast<I>(i));
        f.longs += l > most;
        f.entries += l > most ? l : 0;
        f.longest = std::max(f.longest, l > most ? 0 : l);
      }
      of[static_cast<std::size_t>(part) + 1] = f;
    });
    of[0] = {0, 0, 0};
    for (std::size_t p = 1; p <= static_cast<std::size_t>(parts); ++p) {
      of[p].longs += of[p - 1].longs;
      of[p].entries += of[p - 1].entries;
      longest = std::max(longest, of[p].longest);
    }
    std::size_t const longs = of[static_cast<std::size_t>(parts)].longs;
    places = n - longs;
    chunks = (places + wide - 1) / wide;
    if (longs == 0)
      return;
    std::size_t const entries = of[static_cast<std::size_t>(parts)].entries;
    b.perm = array<I>(places, where.memory);
    b.long_row = array<I>(longs, where.memory);
    b.long_ptr = array<O>(longs + 1, where.memory);
    b.long_col = array<I>(entries, where.memory);
    b.long_val = array<V>(entries, where.memory);
    b.long_ptr[0] = 0;
    parallel(parts, [&](int part) {
      std::size_t at = of[static_cast<std::size_t>(part)].longs;
      std::size_t entry = of[static_cast<std::size_t>(part)].entries;
      for (std::size_t i = split(n, part, parts); i < split(n, part + 1, parts); ++i) {
        std::size_t const l = length(static_cast<I>(i));
        if (l <= most) {
          b.perm[i - at] = static_cast<I>(i);
          continue;
        }
        std::copy_n(a.col + a.row_ptr[i], l, b.long_col.data() + entry);
        std::copy_n(a.val + a.row_ptr[i], l, b.long_val.data() + entry);
        entry += l;
        b.long_row[at] = static_cast<I>(i);
        b.long_ptr[++at] = static_cast<O>(entry);
      }
    });
  }

  /// Sorts the windows where that pays: the slots it saves take more bytes than the row numbers.
  void sort_windows() {
    auto const sigma = static_cast<std::size_t>(o.sigma);
    if (sigma == 1 || places == 0)
      return;
    std::size_t const windows = (places + sigma - 1) / sigma;
    int const parts = parts_of(windows);
    array<std::uint8_t> pays(windows, where.memory);
    array<I> counts((longest + 2) * static_cast<std::size_t>(parts), where.memory);
    bool any = false;
    // count[l]: rows of the window with more than l entries, when it is turned to places.
    auto const histogram = [&](std::size_t first, std::size_t last, I* count) {
      std::size_t most = 0;
      for (std::size_t p = first; p < last; ++p)
        most = std::max(most, length(row(p)));
      std::fill_n(count, most + 1, I(0));
      for (std::size_t p = first; p < last; ++p)
        ++count[length(row(p))];
      return most;
    };
    parallel(parts, [&](int part) {
      I* const count = counts.data() + static_cast<std::size_t>(part) * (longest + 2);
      for (std::size_t w = split(windows, part, parts); w < split(windows, part + 1, parts); ++w) {
        std::size_t const first = w * sigma;
        std::size_t const last = std::min(places, first + sigma);
        std::size_t plain = 0; // steps as the rows come, and sorted
        std::size_t sorted = 0;
        for (std::size_t p = first; p < last; p += wide) {
          std::size_t width = 0;
          for (std::size_t q = p; q < std::min(last, p + wide); ++q)
            width = std::max(width, length(row(q)));
          plain += width;
        }
        std::size_t const most = histogram(first, last, count);
        std::size_t before = 0; // rows longer than l
        for (std::size_t l = most + 1; l-- > 0;) {
          auto const with = before + static_cast<std::size_t>(count[l]);
          sorted += l * ((with + wide - 1) / wide - (before + wide - 1) / wide);
          before = with;
        }
        pays[w] = sell_pays<V, I>(plain, sorted, wide, last - first);
        if (pays[w])
          __atomic_store_n(&any, true, __ATOMIC_RELAXED);
      }
    });
    if (!any)
      return;
    array<I> sorted(places, where.memory);
    parallel(parts, [&](int part) {
      I* const count = counts.data() + static_cast<std::size_t>(part) * (longest + 2);
      for (std::size_t w = split(windows, part, parts); w < split(windows, part + 1, parts); ++w) {
        std::size_t const first = w * sigma;
        std::size_t const last = std::min(places, first + sigma);
        if (!pays[w]) {
          for (std::size_t p = first; p < last; ++p)
            sorted[p] = row(p);
          continue;
        }
        I before = 0;
        for (std::size_t l = histogram(first, last, count) + 1; l-- > 0;) {
          I const here = count[l];
          count[l] = before;
          before = static_cast<I>(before + here);
        }
        for (std::size_t p = first; p < last; ++p)
          sorted[first + static_cast<std::size_t>(count[length(row(p))]++)] = row(p);
      }
    });
    b.perm.swap(sorted);
  }

  /// The offsets column - row of a chunk whose rows follow each other, merged; has(step) is set
  /// to the lanes that have each. 0 where they are more than `most` or lead outside of x.
  std::size_t merge_offsets(std::size_t c, std::size_t most, I* offset, std::uint64_t* has) const {
    std::size_t const here = std::min(wide, places - c * wide);
    I const first = row(c * wide);
    // Mostly all rows are alike.
    std::size_t const n = length(first);
    bool same = here == wide;
    for (std::size_t lane = 1; lane < wide && same; ++lane) {
      I const* const next = a.col + a.row_ptr[static_cast<std::size_t>(first) + lane];
      same = length(static_cast<I>(first + static_cast<I>(lane))) == n;
      for (std::size_t k = 0; k < n && same; ++k)
        same = next[k] - static_cast<I>(lane) == a.col[a.row_ptr[first] + static_cast<O>(k)];
    }
    if (same && n <= most) {
      for (std::size_t k = 0; k < n; ++k) {
        offset[k] = static_cast<I>(a.col[a.row_ptr[first] + static_cast<O>(k)] - first);
        has[k] = all_lanes();
      }
      return n; // the last row's columns lie in the matrix, so all that the kernel reads does
    }
    O at[64];
    std::uint64_t open = 0; // lanes with entries left
    for (std::size_t lane = 0; lane < here; ++lane) {
      at[lane] = a.row_ptr[static_cast<std::size_t>(first) + lane];
      if (at[lane] < a.row_ptr[static_cast<std::size_t>(first) + lane + 1])
        open |= std::uint64_t(1) << lane;
    }
    std::size_t steps = 0;
    while (open != 0) {
      I least = 0;
      std::uint64_t lanes = 0; // with that offset
      for (std::uint64_t rest = open; rest != 0; rest &= rest - 1) {
        int const lane = __builtin_ctzll(rest);
        I const next = static_cast<I>(a.col[at[lane]] - first - static_cast<I>(lane));
        if (lanes == 0 || next < least) {
          least = next;
          lanes = 0;
        }
        if (next == least)
          lanes |= std::uint64_t(1) << lane;
      }
      if (steps == most || least < -first ||
          static_cast<std::size_t>(least + first) + wide > static_cast<std::size_t>(a.cols))
        return 0;
      offset[steps] = least;
      has[steps++] = lanes;
      for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
        int const lane = __builtin_ctzll(rest);
        if (++at[lane] ==
            a.row_ptr[static_cast<std::size_t>(first) + static_cast<std::size_t>(lane) + 1])
          open &= ~(std::uint64_t(1) << lane);
      }
    }
    return steps;
  }

  struct shape {
    std::size_t width = 0;
    std::uint8_t kind = 0;
    I low = 0; // least column
  };
  std::uint64_t all_lanes() const { return ~std::uint64_t(0) >> (64 - wide); }

  shape shape_of(std::size_t c, I* offset, std::uint64_t* has) const {
    std::size_t const first = c * wide;
    std::size_t const last = std::min(places, first + wide);
    shape s;
    I high = -1;
    bool in_order = true;
    for (std::size_t p = first; p < last; ++p) {
      I const r = row(p);
      in_order = in_order && static_cast<std::size_t>(r - row(first)) == p - first;
      if (length(r) == 0)
        continue;
      I const least = a.col[a.row_ptr[r]];
      s.low = high < 0 || least < s.low ? least : s.low;
      high = std::max(high, a.col[a.row_ptr[r + 1] - 1]);
      s.width = std::max(s.width, length(r));
    }
    s.kind = o.short_columns && high - s.low <= UINT16_MAX ? sell_kind::shorts : sell_kind::full;
    if (in_order)
      s.kind |= sell_kind::in_order;
    if (!in_order || !o.shared_offsets || s.width == 0)
      return s;
    std::size_t const slot = sizeof(V) + (s.kind & sell_kind::shorts ? 2 : sizeof(I));
    std::size_t const most = s.width * wide * slot / (wide * sizeof(V) + sizeof(I));
    if (last - first == wide && wide > 2 && !alike(row(first), static_cast<I>(wide / 2), most))
      return s;
    if (std::size_t const steps = merge_offsets(c, most, offset, has)) {
      s.width = steps;
      s.kind = sell_kind::shared | sell_kind::in_order;
      for (std::size_t k = 0; k < steps; ++k)
        if (has[k] != all_lanes())
          s.kind = sell_kind::holed | sell_kind::in_order;
    }
    return s;
  }
  /// Whether two rows have no more than `most` offsets together: a cheap look before the merge.
  bool alike(I r, I lanes, std::size_t most) const {
    O i = a.row_ptr[r];
    O j = a.row_ptr[r + lanes];
    std::size_t both = 0;
    while (i < a.row_ptr[r + 1] && j < a.row_ptr[r + lanes + 1]) {
      I const d = static_cast<I>(a.col[i] - (a.col[j] - lanes));
      i += d <= 0;
      j += d >= 0;
      both += d == 0;
    }
    return length(r) + length(static_cast<I>(r + lanes)) - both <= most;
  }

  /// The shape of every chunk, and where its arrays begin.
  void shape_chunks() {
    b.step_ptr = array<O>(chunks + 1, where.memory);
    b.kind = array<std::uint8_t>(chunks, where.memory);
    b.col_ptr = array<O>(chunks, where.memory);
    b.base = array<I>(chunks, where.memory);
    int const parts = parts_of(chunks);
    std::size_t const most = 3 * longest + 1; // steps of a chunk: see shape_of
    array<I> offsets(2 * most * static_cast<std::size_t>(parts), where.memory);
    array<std::uint64_t> masks(most * static_cast<std::size_t>(parts), where.memory);
    parallel(parts, [&](int part) {
      I* offset = offsets.data() + 2 * most * static_cast<std::size_t>(part);
      I* last = offset + most; // of the chunk before
      std::uint64_t* const has = masks.data() + most * static_cast<std::size_t>(part);
      std::size_t const begin = split(chunks, part, parts);
      shape before;
      if (begin > 0 && begin < chunks)
        before = shape_of(begin - 1, last, has);
      for (std::size_t c = begin; c < split(chunks, part + 1, parts); ++c) {
        shape const s = shape_of(c, offset, has);
        b.step_ptr[c + 1] = narrow<O>(s.width, "width of a chunk");
        b.kind[c] = s.kind;
        b.base[c] = s.kind & sell_kind::shorts ? s.low : I(0);
        if ((s.kind & before.kind & sell_kind::shared) && s.width == before.width &&
            std::equal(offset, offset + s.width, last))
          b.kind[c] |= repeats;
        before = s;
        std::swap(offset, last);
      }
    });
    // In size_t: what does not fit is known when all are added up.
    std::size_t steps = 0, cols = 0, shorts = 0, masked = 0;
    b.step_ptr[0] = 0;
    for (std::size_t c = 0; c < chunks; ++c) {
      auto const width = static_cast<std::size_t>(b.step_ptr[c + 1]);
      bool const again = b.kind[c] & repeats;
      b.kind[c] &= static_cast<std::uint8_t>(~repeats);
      std::uint8_t const tag = b.kind[c] & sell_kind::mask;
      std::size_t& to = tag == sell_kind::shorts ? shorts : cols;
      b.col_ptr[c] = again ? b.col_ptr[c - 1] : static_cast<O>(to);
      if (!again)
        to += tag < sell_kind::shared ? width * wide : width;
      if (tag == sell_kind::holed) {
        b.base[c] = static_cast<I>(masked);
        masked += width;
      }
      steps += width;
      b.step_ptr[c + 1] = static_cast<O>(steps);
    }
    std::size_t const stored = checked_mul(steps, wide, "sell");
    check_sell_sizes<V, I, O>(o, bytes_of(b.view()), static_cast<std::size_t>(a.rows), b.nnz,
                              stored, cols, shorts, masked);
    b.len = array<I>(places, where.memory);
    b.col = array<I>(cols, where.memory);
    b.short_col = array<std::uint16_t>(shorts, where.memory);
    b.mask = array<std::uint64_t>(masked, where.memory);
    b.val = array<V>(stored, where.memory);
  }

  /// Columns of a chunk that has one for each slot; padding repeats the row's last.
  template <class Column>
  void fill_columns(std::size_t c, Column* to, I base) {
    auto const width = static_cast<std::size_t>(b.step_ptr[c + 1] - b.step_ptr[c]);
    for (std::size_t lane = 0; lane < wide; ++lane) {
      std::size_t const place = c * wide + lane;
      std::size_t const n = place < places ? length(row(place)) : 0;
      I const* const from = n != 0 ? a.col + a.row_ptr[row(place)] : nullptr;
      for (std::size_t k = 0; k < n; ++k)
        to[k * wide + lane] = static_cast<Column>(from[k] - base);
      I const last = n != 0 ? from[n - 1] : base;
      for (std::size_t k = n; k < width; ++k)
        to[k * wide + lane] = static_cast<Column>(last - base);
    }
  }

  void fill_chunks() {
    int const parts = parts_of(chunks);
    std::size_t const most = 3 * longest + 1;
    array<I> offsets(most * static_cast<std::size_t>(parts), where.memory);
    parallel(parts, [&](int part) {
      I* const offset = offsets.data() + most * static_cast<std::size_t>(part);
      std::size_t const end = split_by_entries(b.step_ptr.data(), chunks, part + 1, parts);
      for (std::size_t c = split_by_entries(b.step_ptr.data(), chunks, part, parts); c < end; ++c) {
        auto const first = static_cast<std::size_t>(b.step_ptr[c]);
        std::size_t const width = static_cast<std::size_t>(b.step_ptr[c + 1]) - first;
        std::uint8_t const tag = b.kind[c] & sell_kind::mask;
        // Not at the offsets of the chunk before.
        bool const fresh =
            c == 0 || !(b.kind[c - 1] & sell_kind::shared) || b.col_ptr[c] != b.col_ptr[c - 1];
        for (std::size_t p = c * wide; p < std::min(places, (c + 1) * wide); ++p)
          b.len[p] = static_cast<I>(length(row(p)));
        if (tag == sell_kind::full)
          fill_columns(c, b.col.data() + b.col_ptr[c], I(0));
        else if (tag == sell_kind::shorts)
          fill_columns(c, b.short_col.data() + b.col_ptr[c], b.base[c]);
        else if (tag == sell_kind::shared && fresh)
          for (std::size_t k = 0; k < width; ++k)
            b.col[static_cast<std::size_t>(b.col_ptr[c]) + k] = static_cast<I>(
                a.col[static_cast<std::size_t>(a.row_ptr[row(c * wide)]) + k] - row(c * wide));
        else if (tag == sell_kind::holed) {
          merge_offsets(c, width, offset, b.mask.data() + b.base[c]);
          if (fresh)
            std::copy_n(offset, width, b.col.data() + b.col_ptr[c]);
        }
        std::fill_n(b.val.data() + first * wide, width * wide, V{});
      }
    });
  }
};

} // namespace tulle::detail
