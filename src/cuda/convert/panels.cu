// SPDX-License-Identifier: Apache-2.0

// csr to panels: what the host does tile by tile, each step here for all tiles at once. Entries are
// sorted by tile; rows of tiles, which are segments, by length; one thread a tile puts segments
// side by side; and what is left of them is sorted again. Three kinds of items come of it, in this
// order in a tile: `lanes` segments side by side, what is left of one, a single entry.
#include "tulle/format/panels.hpp"

#include "cuda/convert/panel_choice.cuh"
#include "format/detail/check_room.hpp"

namespace tulle::kernels::cuda {
namespace {

/// Where something begins in each tile or item, and how much there is.
template <class O>
class pointers {
public:
  pointers(std::size_t n, void* stream) : n_(n), stream_(stream), memory_(n + 1, stream) {}
  O* get() const { return memory_.get(); }
  /// Counts to where each begins; returns their sum, and waits for it.
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

/// Segments side by side and what is left of each, as detail::tile_builder::shape_tile has it; of
/// all tiles. `place` is a segment's when those of a tile are sorted, the longest first.
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

constexpr std::int32_t most_length = 65536; // of a segment: a panel has no more columns

/// The arrays of panels from tiled entries. v has what is known before.
template <class V, class I, class O>
void shape_tiles(tiled<V, I, O> const& t, panels_options const& o, std::size_t group_size,
                 panels_view<V, I, O, space::cuda>& v, result const& to) {
  void* const stream = to.stream();
  std::size_t const n = t.n, segments = t.segments, tiles = t.tiles;
  auto const side = static_cast<std::size_t>(o.lanes);
  auto const piece = static_cast<I>(o.piece);
  auto const width = static_cast<I>(v.width);

  // Segments by length, then side by side.
  scratch<O> const sorted(segments, stream), place_of(segments, stream);
  scratch<I> const ranks(segments, stream), sorted_tile(segments, stream);
  each(segments, stream, [=, rank = ranks.get()] __device__(std::size_t s) {
    rank[s] = static_cast<I>(most_length) - t.length(s);
  });
  if (segments != 0)
    order_by(static_cast<I>(tiles), static_cast<I>(most_length), static_cast<O>(segments),
             t.segment_tile, static_cast<I const*>(ranks.get()), sorted_tile.get(), sorted.get(),
             stream);
  pointers<O> const before(segments, stream), head_at(segments, stream);
  scratch<I> const taken(segments, stream);
  each(segments, stream,
       [=, sorted = sorted.get(), place_of = place_of.get(),
        before = before.get()] __device__(std::size_t p) {
         before[p] = t.length(static_cast<std::size_t>(sorted[p]));
         place_of[sorted[p]] = static_cast<O>(p);
       });
  to_pointers(before.get(), segments, stream);
  each(tiles, stream, [=, before = before.get(), taken = taken.get()] __device__(std::size_t at) {
    take_wide_items(static_cast<std::size_t>(t.tile_segment[at]),
                    static_cast<std::size_t>(t.tile_segment[at + 1]), side,
                    static_cast<O const*>(before), taken);
  });
  each(segments, stream,
       [=, taken = taken.get(), head_at = head_at.get()] __device__(std::size_t p) {
         head_at[p] = taken[p] != 0;
       });
  std::size_t const wides = head_at.scan();
  scratch<O> const heads(wides, stream);
  each(segments, stream,
       [=, head_at = head_at.get(), head = heads.get()] __device__(std::size_t p) {
         if (head_at[p] != head_at[p + 1])
           head[head_at[p]] = static_cast<O>(p);
       });
  wide_items<I, O> const b{sorted.get(), head_at.get(), heads.get(), taken.get(), o.lanes};

  // What is left: of segments, and of those that are not worth a run, entries.
  scratch<I> const used(segments, stream); // entries that are side by side
  pointers<O> const narrow_at(segments, stream), single_at(n, stream);
  auto const is_narrow = [=] __device__(I left) { return left > 1 && left >= piece; };
  each(segments, stream,
       [=, place_of = place_of.get(), used = used.get(),
        narrow_at = narrow_at.get()] __device__(std::size_t s) {
         std::size_t item = 0;
         used[s] =
             b.item(static_cast<std::size_t>(place_of[s]), item) ? b.taken[b.head[item]] : I(0);
         narrow_at[s] = is_narrow(t.length(s) - used[s]);
       });
  each(n, stream, [=, used = used.get(), single_at = single_at.get()] __device__(std::size_t e) {
    std::size_t const s = t.segment(e);
    single_at[e] = static_cast<I>(static_cast<O>(e) - t.segment_ptr[s]) >= used[s] &&
                   !is_narrow(t.length(s) - used[s]);
  });
  std::size_t const narrows = narrow_at.scan();
  std::size_t const singles = single_at.scan();

  // Those of segments by length, in the order they come; those of entries by column.
  scratch<I> const narrow_tile(narrows, stream), narrow_rank(narrows, stream);
  scratch<O> const narrow(narrows, stream), narrow_order(narrows, stream);
  each(segments, stream,
       [=, used = used.get(), at = narrow_at.get(), narrow = narrow.get(), tile = narrow_tile.get(),
        rank = narrow_rank.get()] __device__(std::size_t s) {
         if (at[s] == at[s + 1])
           return;
         narrow[at[s]] = static_cast<O>(s);
         tile[at[s]] = t.segment_tile[s];
         rank[at[s]] = static_cast<I>(most_length) - (t.length(s) - used[s]);
       });
  scratch<I> const narrow_sorted(narrows, stream);
  if (narrows != 0)
    order_by(static_cast<I>(tiles), static_cast<I>(most_length), static_cast<O>(narrows),
             static_cast<I const*>(narrow_tile.get()), static_cast<I const*>(narrow_rank.get()),
             narrow_sorted.get(), narrow_order.get(), stream);
  scratch<I> const single_tile(singles, stream), single_col(singles, stream),
      single_sorted(singles, stream);
  scratch<O> const single(singles, stream), single_order(singles, stream);
  each(n, stream,
       [=, at = single_at.get(), single = single.get(), tile = single_tile.get(),
        col = single_col.get()] __device__(std::size_t e) {
         if (at[e] == at[e + 1])
           return;
         single[at[e]] = static_cast<O>(e);
         tile[at[e]] = t.segment_tile[t.segment(e)];
         col[at[e]] = t.col[e];
       });
  if (singles != 0)
    order_by(static_cast<I>(tiles), width, static_cast<O>(singles),
             static_cast<I const*>(single_tile.get()), static_cast<I const*>(single_col.get()),
             single_sorted.get(), single_order.get(), stream);

  // All items in order: their lengths, as run_len has them, then where their entries and slots go.
  std::size_t const items = wides + narrows + singles;
  scratch<I> const item_len(items, stream), item_tile(items, stream);
  scratch<O> const segment_item(segments, stream), single_item(n, stream);
  pointers<O> const item_entry(items, stream), item_slot(items, stream), run_at(items, stream);
  auto const first_item = [=, wide_at = head_at.get(), narrow_at = narrow_at.get(),
                           single_at = single_at.get()] __device__(std::size_t tile) {
    return wide_at[t.tile_segment[tile]] + narrow_at[t.tile_segment[tile]] +
           single_at[t.tile_ptr[tile]];
  };
  each(items, stream,
       [=, wide_at = head_at.get(), narrow_at = narrow_at.get(), single_at = single_at.get(),
        narrow = narrow.get(), narrow_order = narrow_order.get(), single = single.get(),
        single_order = single_order.get(), used = used.get(), len = item_len.get(),
        item_tile = item_tile.get(), segment_item = segment_item.get(),
        single_item = single_item.get(), entry = item_entry.get(),
        slot = item_slot.get()] __device__(std::size_t k) {
         // The k-th of its kind; those of a tile follow those of other kinds in it.
         std::size_t tile = 0, at = 0;
         I length = 1;
         std::size_t rows = 1;
         if (k < wides) {
           auto const p = static_cast<std::size_t>(b.head[k]);
           tile = static_cast<std::size_t>(t.segment_tile[b.sorted[p]]);
           at = k - static_cast<std::size_t>(wide_at[t.tile_segment[tile]]);
           length = b.taken[p];
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
         at += static_cast<std::size_t>(first_item(tile));
         bool const is_wide = k < wides;
         if (k >= wides + narrows)
           single_item[single[single_order[k - wides - narrows]]] = static_cast<O>(at);
         else if (!is_wide)
           segment_item[narrow[narrow_order[k - wides]]] = static_cast<O>(at);
         len[at] = is_wide ? length : -length;
         item_tile[at] = static_cast<I>(tile);
         entry[at] = static_cast<O>(rows) * length;
         slot[at] = static_cast<O>(rows);
       });
  to_pointers(item_entry.get(), items, stream);
  std::size_t const slots = item_slot.scan();
  each(items, stream,
       [=, len = item_len.get(), tile = item_tile.get(),
        run_at = run_at.get()] __device__(std::size_t i) {
         run_at[i] = i == 0 || len[i] != len[i - 1] || tile[i] != tile[i - 1];
       });
  std::size_t const runs = run_at.scan();
  detail::check_room("panels",
                     detail::panels_bytes<V, I, O>(n, slots, tiles, runs,
                                                   (v.order ? v.places : 0) + 2 * group_size),
                     detail::bytes_of(t.a), o.limit);

  O* const slot_ptr = to.take<O>(tiles + 1);
  O* const run_ptr = to.take<O>(tiles + 1);
  I* const run_len = to.take<I>(runs);
  O* const run_count = to.take<O>(runs);
  std::uint16_t* const row = to.take<std::uint16_t>(slots);
  std::uint16_t* const col = to.take<std::uint16_t>(n);
  V* const val = to.take<V>(n);
  each(tiles + 1, stream,
       [=, slot = item_slot.get(), run_at = run_at.get()] __device__(std::size_t at) {
         auto const i = at == tiles ? items : static_cast<std::size_t>(first_item(at));
         slot_ptr[at] = slot[i];
         run_ptr[at] = run_at[i];
       });
  scratch<O> const run_item(runs + 1, stream);
  each(items + 1, stream,
       [=, len = item_len.get(), run_at = run_at.get(),
        run_item = run_item.get()] __device__(std::size_t i) {
         if (i == items || run_at[i] != run_at[i + 1])
           run_item[run_at[i]] = static_cast<O>(i);
         if (i < items && run_at[i] != run_at[i + 1])
           run_len[run_at[i]] = len[i];
       });
  each(runs, stream, [=, run_item = run_item.get()] __device__(std::size_t r) {
    run_count[r] = run_item[r + 1] - run_item[r];
  });
  each(n, stream,
       [=, place_of = place_of.get(), used = used.get(), segment_item = segment_item.get(),
        single_item = single_item.get(), single_at = single_at.get(), wide_at = head_at.get(),
        entry = item_entry.get(), slot = item_slot.get()] __device__(std::size_t e) {
         std::size_t const s = t.segment(e);
         O const k = static_cast<O>(e) - t.segment_ptr[s]; // in its segment
         std::size_t item = 0, lane = 0;
         O at = 0;
         if (k < static_cast<O>(used[s])) {
           auto const p = static_cast<std::size_t>(place_of[s]);
           b.item(p, item);
           lane = p - static_cast<std::size_t>(b.head[item]);
           auto const tile = static_cast<std::size_t>(t.segment_tile[s]);
           item = static_cast<std::size_t>(first_item(tile)) + item -
                  static_cast<std::size_t>(wide_at[t.tile_segment[tile]]);
           at = entry[item] + k * static_cast<O>(side) + static_cast<O>(lane);
         } else if (single_at[e] != single_at[e + 1]) {
           item = static_cast<std::size_t>(single_item[e]);
           at = entry[item];
         } else {
           item = static_cast<std::size_t>(segment_item[s]);
           at = entry[item] + (k - static_cast<O>(used[s]));
         }
         col[at] = t.col[e];
         val[at] = t.a.val[t.order[e]];
         if (k == 0 || k == static_cast<O>(used[s]) || single_at[e] != single_at[e + 1])
           row[slot[item] + static_cast<O>(lane)] = t.row[e];
       });
  v.runs = runs;
  v.slots = slots;
  v.slot_ptr = slot_ptr;
  v.run_ptr = run_ptr;
  v.run_len = run_len;
  v.run_count = run_count;
  v.row = row;
  v.col = col;
  v.val = val;
}

template <class V, class I, class O>
panels_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, panels_options const& o,
                                             result const& to) {
  detail::check_panels_options(o);
  canonical<V, I, O> const c(a, to.stream());
  void* const stream = to.stream();
  panels_view<V, I, O, space::cuda> v;
  v.rows = a.rows;
  v.cols = a.cols;
  v.nnz = c.view.nnz;
  v.lanes = o.lanes;
  v.places = static_cast<std::size_t>(a.cols);
  if (a.rows == 0)
    return v;
  device_csr<V, I, O> const from = c.view;
  auto const n = static_cast<std::size_t>(from.nnz);
  I const* const group_ptr = choose_groups(from, o, to, v.groups);
  bool const ordered = choose_order(from, o, to, v);
  scratch<I> const place_of(ordered ? static_cast<std::size_t>(a.cols) : 0, stream);
  v.group_ptr = group_ptr;
  if (ordered)
    each(v.places, stream, [order = v.order, place = place_of.get()] __device__(std::size_t l) {
      place[order[l]] = static_cast<I>(l);
    });
  std::size_t const groups = v.groups;

  // Entries by tile.
  int const shift = std::countr_zero(static_cast<unsigned>(v.width));
  auto const panels = static_cast<I>((v.places + static_cast<std::size_t>(v.width) - 1) >> shift);
  scratch<I> const rows(n, stream), group(n, stream), panel(n, stream), sorted(n, stream);
  scratch<O> const order(n, stream);
  expand_rows(a.rows, from.nnz, from.row_ptr, rows.get(), stream);
  auto const place = [=, has_order = v.order != nullptr, place = place_of.get()] __device__(
                         std::size_t k) { return has_order ? place[from.col[k]] : from.col[k]; };
  each(n, stream,
       [=, row = rows.get(), group = group.get(), panel = panel.get()] __device__(std::size_t k) {
         group[k] = upper_bound(group_ptr, static_cast<I>(groups) + 1, row[k]) - 1;
         panel[k] = place(k) >> shift;
       });
  if (n != 0)
    order_by(static_cast<I>(groups), panels, from.nnz, static_cast<I const*>(group.get()),
             static_cast<I const*>(panel.get()), sorted.get(), order.get(), stream);

  // Tiles, and segments of rows in them.
  pointers<O> const tile_at(n, stream), segment_at(n, stream);
  scratch<std::uint16_t> const local_row(n, stream), local_col(n, stream);
  each(n, stream,
       [=, row = rows.get(), group = group.get(), panel = panel.get(), order = order.get(),
        tile_at = tile_at.get(), segment_at = segment_at.get(), local_row = local_row.get(),
        local_col = local_col.get()] __device__(std::size_t e) {
         O const k = order[e];
         O const last = e == 0 ? k : order[e - 1];
         bool const begins = e == 0 || group[k] != group[last] || panel[k] != panel[last];
         tile_at[e] = begins;
         segment_at[e] = begins || row[k] != row[last];
         local_row[e] = static_cast<std::uint16_t>(row[k] - group_ptr[group[k]]);
         local_col[e] =
             static_cast<std::uint16_t>(place(static_cast<std::size_t>(k)) & ((I(1) << shift) - 1));
       });
  std::size_t const tiles = tile_at.scan();
  std::size_t const segments = segment_at.scan();
  O* const group_tile = to.take<O>(groups + 1);
  I* const tile_panel = to.take<I>(tiles);
  O* const tile_ptr = to.take<O>(tiles + 1);
  scratch<O> const tile_segment(tiles + 1, stream), segment_ptr(segments + 1, stream);
  scratch<I> const tile_group(tiles, stream), segment_tile(segments, stream);
  each(n + 1, stream,
       [=, group = group.get(), panel = panel.get(), order = order.get(), tile_at = tile_at.get(),
        segment_at = segment_at.get(), tile_segment = tile_segment.get(),
        segment_ptr = segment_ptr.get(), tile_group = tile_group.get(),
        segment_tile = segment_tile.get()] __device__(std::size_t e) {
         O const at = tile_at[e];
         if (e == n || at != tile_at[e + 1]) {
           tile_ptr[at] = static_cast<O>(e);
           tile_segment[at] = segment_at[e];
         }
         if (e == n || segment_at[e] != segment_at[e + 1])
           segment_ptr[segment_at[e]] = static_cast<O>(e);
         if (e == n)
           return;
         if (at != tile_at[e + 1]) {
           tile_panel[at] = panel[order[e]];
           tile_group[at] = group[order[e]];
         }
         if (segment_at[e] != segment_at[e + 1])
           segment_tile[segment_at[e]] = static_cast<I>(tile_at[e + 1] - 1);
       });
  each(groups + 1, stream, [=, group = tile_group.get()] __device__(std::size_t g) {
    group_tile[g] = static_cast<O>(lower_bound(group, static_cast<O>(tiles), static_cast<I>(g)));
  });
  v.tiles = tiles;
  v.group_tile = group_tile;
  v.tile_panel = tile_panel;
  v.tile_ptr = tile_ptr;
  shape_tiles(tiled<V, I, O>{from, tiles, segments, n, order.get(), tile_ptr, tile_segment.get(),
                             segment_ptr.get(), segment_tile.get(), segment_at.get(),
                             local_row.get(), local_col.get()},
              o, groups + 1, v, to);
  return v;
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(panels)

} // namespace tulle::kernels::cuda
