// SPDX-License-Identifier: Apache-2.0

// The items of panels, from entries sorted by tile. A tile has, in this order: items of `lanes`
// segments side by side, what remains of single segments, single entries. Rows of tiles, which are
// segments, are sorted by length; one thread per tile puts segments side by side; the remaining
// entries are sorted again.
#pragma once
#include "tulle/format/panels.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/sort_by_key.cuh"
#include "format/detail/check_room.hpp"

#include <optional>

namespace tulle::kernels::cuda {
namespace {

/// Where something begins in each tile or item, and how much there is.
template <class O>
class pointers {
public:
  pointers(std::size_t n, void* stream) : n_(n), stream_(stream), memory_(n + 1, stream) {}
  O* get() const { return memory_.get(); }
  /// Turns counts into positions; returns their sum, and waits for it.
  std::size_t scan() const {
    to_pointers(get(), n_, stream_);
    return last_of(get(), n_, stream_);
  }

private:
  std::size_t n_;
  void* stream_;
  scratch<O> memory_;
};

/// Entries in the order of tiles, as kernels see them. Tile t has entries from tile_ptr[t] and
/// segments from tile_segment[t] on.
template <class V, class I, class O>
struct tiled {
  device_csr<V, I, O> a;
  std::size_t tiles, segments, n;
  O const* order;        // position in csr
  O const* tile_ptr;     // tiles + 1
  O const* tile_segment; // tiles + 1
  O const* segment_ptr;  // segments + 1: its first entry
  I const* segment_tile; // segments
  O const* segment_at;   // n + 1: segments that begin before an entry
  std::uint16_t const* row;
  std::uint16_t const* col;

  __device__ I length(std::size_t s) const {
    return static_cast<I>(segment_ptr[s + 1] - segment_ptr[s]);
  }
  /// The segment of entry e.
  __device__ std::size_t segment(std::size_t e) const {
    return static_cast<std::size_t>(segment_at[e + 1]) - 1;
  }
};

constexpr std::int32_t most_length = 65536; // of a segment: a panel has no more columns

/// Items of segments side by side in all tiles, chosen as detail::tile_builder::shape_tile does.
/// The place of a segment is its position when those of each tile are sorted, the longest first.
template <class I, class O>
struct wide_items {
  O const* sorted;  // segments, by place
  O const* head_at; // places + 1: items that begin before a place
  O const* head;    // items: their first place
  I const* taken;   // places: entries of each segment of an item that begins there
  int lanes;

  /// The item of a place; false where it is in none.
  __device__ bool item(std::size_t place, std::size_t& i) const {
    if (head_at[place + 1] == 0)
      return false;
    i = static_cast<std::size_t>(head_at[place + 1]) - 1;
    return place - static_cast<std::size_t>(head[i]) < static_cast<std::size_t>(lanes);
  }
};

/// The memory of wide items.
template <class I, class O>
struct wide_memory {
  scratch<O> sorted;
  scratch<O> place_of; // segments: their places
  pointers<O> head_at;
  scratch<I> taken;
  std::optional<scratch<O>> head;
  std::size_t count = 0; // of items

  wide_memory(std::size_t segments, void* stream)
      : sorted(segments, stream), place_of(segments, stream), head_at(segments, stream),
        taken(segments, stream) {}
  wide_items<I, O> items(int lanes) const {
    return {sorted.get(), head_at.get(), head->get(), taken.get(), lanes};
  }
};

/// The segments of each tile, the longest first; length gets theirs by place.
template <class V, class I, class O>
void sort_segments(tiled<V, I, O> const& t, wide_memory<I, O> const& to, O* length, void* stream) {
  scratch<I> const ranks(t.segments, stream), sorted_tile(t.segments, stream);
  each(t.segments, stream, [=, rank = ranks.get()] __device__(std::size_t s) {
    rank[s] = static_cast<I>(most_length) - t.length(s);
  });
  if (t.segments != 0)
    order_by(static_cast<I>(t.tiles), static_cast<I>(most_length), static_cast<O>(t.segments),
             t.segment_tile, static_cast<I const*>(ranks.get()), sorted_tile.get(), to.sorted.get(),
             stream);
  each(t.segments, stream,
       [=, sorted = to.sorted.get(), place_of = to.place_of.get()] __device__(std::size_t p) {
         length[p] = t.length(static_cast<std::size_t>(sorted[p]));
         place_of[sorted[p]] = static_cast<O>(p);
       });
}

/// One tile: taken[place] > 0 where an item begins.
template <class I, class O>
__device__ void take_wide_items(std::size_t first, std::size_t last, std::size_t side,
                                O const* before, I* taken) {
  auto const length = [&](std::size_t p) { return before[p + 1] - before[p]; };
  for (std::size_t p = first; p < last;) {
    bool const fits = p + side <= last;
    O const least = fits ? length(p + side - 1) : O(0);
    // Side by side while at most half of their entries are left over.
    bool const good =
        fits && least != 0 && 2 * static_cast<O>(side) * least >= before[p + side] - before[p];
    taken[p] = good ? static_cast<I>(least) : I(0);
    for (std::size_t q = p + 1; good && q < p + side; ++q)
      taken[q] = 0;
    p += good ? side : 1;
  }
}

/// Sorts segments and finds those that stand side by side.
template <class V, class I, class O>
void find_wide_items(tiled<V, I, O> const& t, std::size_t side, wide_memory<I, O>& to,
                     void* stream) {
  pointers<O> const before(t.segments, stream);
  sort_segments(t, to, before.get(), stream);
  to_pointers(before.get(), t.segments, stream);
  each(t.tiles, stream,
       [=, before = before.get(), taken = to.taken.get()] __device__(std::size_t at) {
         take_wide_items(static_cast<std::size_t>(t.tile_segment[at]),
                         static_cast<std::size_t>(t.tile_segment[at + 1]), side,
                         static_cast<O const*>(before), taken);
       });
  each(t.segments, stream,
       [taken = to.taken.get(), head_at = to.head_at.get()] __device__(std::size_t p) {
         head_at[p] = taken[p] != 0;
       });
  to.count = to.head_at.scan();
  to.head.emplace(to.count, stream);
  each(t.segments, stream,
       [head_at = to.head_at.get(), head = to.head->get()] __device__(std::size_t p) {
         if (head_at[p] != head_at[p + 1])
           head[head_at[p]] = static_cast<O>(p);
       });
}

/// What remains after wide items.
template <class I, class O>
struct rest_memory {
  scratch<I> used;       // segments: entries that are side by side
  pointers<O> narrow_at; // segments: those before that leave an item of their own
  pointers<O> single_at; // entries: those before that are items

  rest_memory(std::size_t segments, std::size_t n, void* stream)
      : used(segments, stream), narrow_at(segments, stream), single_at(n, stream) {}
};

/// Finds what remains: a piece of a segment where that is worth a run, otherwise its entries.
template <class V, class I, class O>
void find_rest(tiled<V, I, O> const& t, wide_items<I, O> const& wide, O const* place_of, I piece,
               rest_memory<I, O> const& to, void* stream) {
  auto const is_narrow = [=] __device__(I left) { return left > 1 && left >= piece; };
  each(t.segments, stream,
       [=, used = to.used.get(), narrow_at = to.narrow_at.get()] __device__(std::size_t s) {
         std::size_t item = 0;
         used[s] = wide.item(static_cast<std::size_t>(place_of[s]), item)
                       ? wide.taken[wide.head[item]]
                       : I(0);
         narrow_at[s] = is_narrow(t.length(s) - used[s]);
       });
  each(t.n, stream,
       [=, used = to.used.get(), single_at = to.single_at.get()] __device__(std::size_t e) {
         std::size_t const s = t.segment(e);
         single_at[e] = static_cast<I>(static_cast<O>(e) - t.segment_ptr[s]) >= used[s] &&
                        !is_narrow(t.length(s) - used[s]);
       });
}

/// Items of one kind in the order of their tiles: source[order[i]] is the segment, or the entry,
/// that the i-th comes from.
template <class O>
struct sorted_items {
  std::size_t count;
  scratch<O> source, order;

  sorted_items(std::size_t n, void* stream) : count(n), source(n, stream), order(n, stream) {}
};

/// Sorts what remains of segments, the longest first.
template <class V, class I, class O>
void sort_narrow_items(tiled<V, I, O> const& t, rest_memory<I, O> const& rest,
                       sorted_items<O> const& to, void* stream) {
  scratch<I> const tiles(to.count, stream), ranks(to.count, stream), sorted(to.count, stream);
  each(t.segments, stream,
       [=, used = rest.used.get(), at = rest.narrow_at.get(), source = to.source.get(),
        tile = tiles.get(), rank = ranks.get()] __device__(std::size_t s) {
         if (at[s] == at[s + 1])
           return;
         source[at[s]] = static_cast<O>(s);
         tile[at[s]] = t.segment_tile[s];
         rank[at[s]] = static_cast<I>(most_length) - (t.length(s) - used[s]);
       });
  if (to.count != 0)
    order_by(static_cast<I>(t.tiles), static_cast<I>(most_length), static_cast<O>(to.count),
             static_cast<I const*>(tiles.get()), static_cast<I const*>(ranks.get()), sorted.get(),
             to.order.get(), stream);
}

/// Sorts single entries, by column.
template <class V, class I, class O>
void sort_single_items(tiled<V, I, O> const& t, I width, rest_memory<I, O> const& rest,
                       sorted_items<O> const& to, void* stream) {
  scratch<I> const tiles(to.count, stream), cols(to.count, stream), sorted(to.count, stream);
  each(t.n, stream,
       [=, at = rest.single_at.get(), source = to.source.get(), tile = tiles.get(),
        col = cols.get()] __device__(std::size_t e) {
         if (at[e] == at[e + 1])
           return;
         source[at[e]] = static_cast<O>(e);
         tile[at[e]] = t.segment_tile[t.segment(e)];
         col[at[e]] = t.col[e];
       });
  if (to.count != 0)
    order_by(static_cast<I>(t.tiles), width, static_cast<O>(to.count),
             static_cast<I const*>(tiles.get()), static_cast<I const*>(cols.get()), sorted.get(),
             to.order.get(), stream);
}

/// An item among those of all tiles.
template <class I>
struct placed_item {
  std::size_t tile;
  std::size_t at; // its position
  I length;
  std::size_t rows;
};

/// All items by kind, as kernels see them.
template <class V, class I, class O>
struct item_kinds {
  tiled<V, I, O> t;
  wide_items<I, O> wide;
  std::size_t side, wides, narrows, items;
  O const *wide_at, *narrow_at, *single_at; // as head_at, and in rest_memory
  I const* used;                            // as in rest_memory
  O const *narrow, *narrow_order;           // as in sorted_items
  O const *single, *single_order;

  /// The first item of a tile.
  __device__ O first(std::size_t tile) const {
    return wide_at[t.tile_segment[tile]] + narrow_at[t.tile_segment[tile]] +
           single_at[t.tile_ptr[tile]];
  }
  __device__ std::size_t narrow_source(std::size_t k) const {
    return static_cast<std::size_t>(narrow[narrow_order[k - wides]]);
  }
  __device__ std::size_t single_source(std::size_t k) const {
    return static_cast<std::size_t>(single[single_order[k - wides - narrows]]);
  }
  /// The k-th item when they go by kind. Those of a kind follow those of the others in each tile.
  __device__ placed_item<I> place(std::size_t k) const {
    std::size_t tile = 0, at = 0;
    I length = 1;
    std::size_t rows = 1;
    if (k < wides) {
      auto const p = static_cast<std::size_t>(wide.head[k]);
      tile = static_cast<std::size_t>(t.segment_tile[wide.sorted[p]]);
      at = k - static_cast<std::size_t>(wide_at[t.tile_segment[tile]]);
      length = wide.taken[p];
      rows = side;
    } else if (k < wides + narrows) {
      std::size_t const i = k - wides;
      auto const s = static_cast<std::size_t>(narrow[narrow_order[i]]);
      tile = static_cast<std::size_t>(t.segment_tile[s]);
      O const wide = wide_at[t.tile_segment[tile + 1]] - wide_at[t.tile_segment[tile]];
      at = static_cast<std::size_t>(wide) + i -
           static_cast<std::size_t>(narrow_at[t.tile_segment[tile]]);
      length = t.length(s) - used[s];
    } else {
      std::size_t const i = k - wides - narrows;
      auto const e = static_cast<std::size_t>(single[single_order[i]]);
      tile = static_cast<std::size_t>(t.segment_tile[t.segment(e)]);
      O const others = wide_at[t.tile_segment[tile + 1]] - wide_at[t.tile_segment[tile]] +
                       narrow_at[t.tile_segment[tile + 1]] - narrow_at[t.tile_segment[tile]];
      at = static_cast<std::size_t>(others) + i -
           static_cast<std::size_t>(single_at[t.tile_ptr[tile]]);
    }
    at += static_cast<std::size_t>(first(tile));
    return {tile, at, length, rows};
  }
};

/// Items in the order of tiles, and those of segments and entries.
template <class I, class O>
struct item_memory {
  scratch<I> len; // as run_len has it
  scratch<I> tile;
  scratch<O> segment_item, single_item; // of what is left of a segment; of an entry
  pointers<O> entry, slot, run_at;      // before an item

  item_memory(std::size_t items, std::size_t segments, std::size_t n, void* stream)
      : len(items, stream), tile(items, stream), segment_item(segments, stream),
        single_item(n, stream), entry(items, stream), slot(items, stream), run_at(items, stream) {}
};

/// Puts items in the order of tiles; entry and slot get how many of them each item has.
template <class V, class I, class O>
void place_items(item_kinds<V, I, O> const& of, item_memory<I, O> const& to, void* stream) {
  each(of.items, stream,
       [=, len = to.len.get(), tile = to.tile.get(), segment_item = to.segment_item.get(),
        single_item = to.single_item.get(), entry = to.entry.get(),
        slot = to.slot.get()] __device__(std::size_t k) {
         placed_item<I> const item = of.place(k);
         bool const is_wide = k < of.wides;
         if (k >= of.wides + of.narrows)
           single_item[of.single_source(k)] = static_cast<O>(item.at);
         else if (!is_wide)
           segment_item[of.narrow_source(k)] = static_cast<O>(item.at);
         len[item.at] = is_wide ? item.length : -item.length;
         tile[item.at] = static_cast<I>(item.tile);
         entry[item.at] = static_cast<O>(item.rows) * item.length;
         slot[item.at] = static_cast<O>(item.rows);
       });
}

/// Counts runs: items of one tile and length that follow each other. Waits for it.
template <class I, class O>
std::size_t find_runs(std::size_t items, item_memory<I, O> const& m, void* stream) {
  each(items, stream,
       [len = m.len.get(), tile = m.tile.get(), run_at = m.run_at.get()] __device__(std::size_t i) {
         run_at[i] = i == 0 || len[i] != len[i - 1] || tile[i] != tile[i - 1];
       });
  return m.run_at.scan();
}

/// The arrays of panels that items decide.
template <class V, class I, class O>
struct item_arrays {
  O *slot_ptr, *run_ptr;
  I* run_len;
  O* run_count;
  std::uint16_t *row, *col;
  V* val;

  item_arrays(std::size_t tiles, std::size_t runs, std::size_t slots, std::size_t n,
              result const& to)
      : slot_ptr(to.take<O>(tiles + 1)), run_ptr(to.take<O>(tiles + 1)), run_len(to.take<I>(runs)),
        run_count(to.take<O>(runs)), row(to.take<std::uint16_t>(slots)),
        col(to.take<std::uint16_t>(n)), val(to.take<V>(n)) {}
};

/// slot_ptr, run_ptr, run_len and run_count.
template <class V, class I, class O>
void fill_runs(item_kinds<V, I, O> const& of, item_memory<I, O> const& m, std::size_t runs,
               item_arrays<V, I, O> const& to, void* stream) {
  each(of.t.tiles + 1, stream,
       [=, slot = m.slot.get(), run_at = m.run_at.get()] __device__(std::size_t at) {
         auto const i = at == of.t.tiles ? of.items : static_cast<std::size_t>(of.first(at));
         to.slot_ptr[at] = slot[i];
         to.run_ptr[at] = run_at[i];
       });
  scratch<O> const run_item(runs + 1, stream);
  each(of.items + 1, stream,
       [run_len = to.run_len, items = of.items, len = m.len.get(), run_at = m.run_at.get(),
        run_item = run_item.get()] __device__(std::size_t i) {
         if (i == items || run_at[i] != run_at[i + 1])
           run_item[run_at[i]] = static_cast<O>(i);
         if (i < items && run_at[i] != run_at[i + 1])
           run_len[run_at[i]] = len[i];
       });
  each(runs, stream,
       [run_count = to.run_count, run_item = run_item.get()] __device__(std::size_t r) {
         run_count[r] = run_item[r + 1] - run_item[r];
       });
}

/// row, col and val.
template <class V, class I, class O>
void fill_entries(item_kinds<V, I, O> const& of, item_memory<I, O> const& m, O const* place_of,
                  item_arrays<V, I, O> const& to, void* stream) {
  each(of.t.n, stream,
       [=, used = of.used, single_at = of.single_at, segment_item = m.segment_item.get(),
        single_item = m.single_item.get(), entry = m.entry.get(), slot = m.slot.get(), row = to.row,
        col = to.col, val = to.val] __device__(std::size_t e) {
         std::size_t const s = of.t.segment(e);
         O const k = static_cast<O>(e) - of.t.segment_ptr[s]; // in its segment
         std::size_t item = 0, lane = 0;
         O at = 0;
         if (k < static_cast<O>(used[s])) {
           auto const p = static_cast<std::size_t>(place_of[s]);
           of.wide.item(p, item);
           lane = p - static_cast<std::size_t>(of.wide.head[item]);
           auto const tile = static_cast<std::size_t>(of.t.segment_tile[s]);
           item = static_cast<std::size_t>(of.first(tile)) + item -
                  static_cast<std::size_t>(of.wide_at[of.t.tile_segment[tile]]);
           at = entry[item] + k * static_cast<O>(of.side) + static_cast<O>(lane);
         } else if (single_at[e] != single_at[e + 1]) {
           item = static_cast<std::size_t>(single_item[e]);
           at = entry[item];
         } else {
           item = static_cast<std::size_t>(segment_item[s]);
           at = entry[item] + (k - static_cast<O>(used[s]));
         }
         col[at] = of.t.col[e];
         val[at] = of.t.a.val[of.t.order[e]];
         if (k == 0 || k == static_cast<O>(used[s]) || single_at[e] != single_at[e + 1])
           row[slot[item] + static_cast<O>(lane)] = of.t.row[e];
       });
}

/// The arrays of panels from tiled entries. v has what is known before.
template <class V, class I, class O>
void shape_tiles(tiled<V, I, O> const& t, panels_options const& o, std::size_t group_size,
                 panels_view<V, I, O, space::cuda>& v, result const& to) {
  void* const stream = to.stream();
  auto const side = static_cast<std::size_t>(o.lanes);
  wide_memory<I, O> wide(t.segments, stream);
  find_wide_items(t, side, wide, stream);
  O const* const place_of = wide.place_of.get();
  rest_memory<I, O> const rest(t.segments, t.n, stream);
  find_rest(t, wide.items(o.lanes), place_of, static_cast<I>(o.piece), rest, stream);
  sorted_items<O> const narrow(rest.narrow_at.scan(), stream);
  sorted_items<O> const single(rest.single_at.scan(), stream);
  sort_narrow_items(t, rest, narrow, stream);
  sort_single_items(t, static_cast<I>(v.width), rest, single, stream);

  std::size_t const items = wide.count + narrow.count + single.count;
  item_kinds<V, I, O> const all{t,
                                wide.items(o.lanes),
                                side,
                                wide.count,
                                narrow.count,
                                items,
                                wide.head_at.get(),
                                rest.narrow_at.get(),
                                rest.single_at.get(),
                                rest.used.get(),
                                narrow.source.get(),
                                narrow.order.get(),
                                single.source.get(),
                                single.order.get()};
  item_memory<I, O> const placed(items, t.segments, t.n, stream);
  place_items(all, placed, stream);
  to_pointers(placed.entry.get(), items, stream);
  std::size_t const slots = placed.slot.scan();
  std::size_t const runs = find_runs(items, placed, stream);
  detail::check_room("panels",
                     detail::panels_bytes<V, I, O>(t.n, slots, t.tiles, runs,
                                                   (v.order ? v.places : 0) + 2 * group_size),
                     detail::bytes_of(t.a), o.limit);
  item_arrays<V, I, O> const made(t.tiles, runs, slots, t.n, to);
  fill_runs(all, placed, runs, made, stream);
  fill_entries(all, placed, place_of, made, stream);
  v.runs = runs;
  v.slots = slots;
  v.slot_ptr = made.slot_ptr;
  v.run_ptr = made.run_ptr;
  v.run_len = made.run_len;
  v.run_count = made.run_count;
  v.row = made.row;
  v.col = made.col;
  v.val = made.val;
}

} // namespace
} // namespace tulle::kernels::cuda
