// SPDX-License-Identifier: Apache-2.0

// csr to panels, as on the host but each step for all tiles at once. Entries are sorted by tile;
// panel_items.cuh makes the items of all tiles.
#include "tulle/format/panels.hpp"

#include "cuda/convert/panel_choice.cuh"
#include "cuda/convert/panel_items.cuh"

namespace tulle::kernels::cuda {
namespace {

/// The place of an entry's column, looked up where columns are ordered by their entries.
template <class V, class I, class O>
struct column_places {
  device_csr<V, I, O> a;
  bool are_ordered;
  I const* place;

  __device__ I operator()(std::size_t k) const { return are_ordered ? place[a.col[k]] : a.col[k]; }
};

/// Entries of csr, and their order by tile.
template <class I, class O>
struct entry_memory {
  scratch<I> row, group, panel;
  scratch<O> order;

  entry_memory(std::size_t n, void* stream)
      : row(n, stream), group(n, stream), panel(n, stream), order(n, stream) {}
};

/// The row, group and panel of each entry, then entries by group and panel.
template <class V, class I, class O>
void sort_entries(device_csr<V, I, O> const& a, panels_view<V, I, O, space::cuda> const& v,
                  column_places<V, I, O> const& places, int shift, entry_memory<I, O> const& to,
                  void* stream) {
  auto const n = static_cast<std::size_t>(a.nnz);
  auto const groups = static_cast<I>(v.groups);
  auto const panels = static_cast<I>((v.places + static_cast<std::size_t>(v.width) - 1) >> shift);
  scratch<I> const sorted(n, stream);
  expand_rows(a.rows, a.nnz, a.row_ptr, to.row.get(), stream);
  each(n, stream,
       [=, group_ptr = v.group_ptr, row = to.row.get(), group = to.group.get(),
        panel = to.panel.get()] __device__(std::size_t k) {
         group[k] = upper_bound(group_ptr, groups + 1, row[k]) - 1;
         panel[k] = places(k) >> shift;
       });
  if (n != 0)
    order_by(groups, panels, a.nnz, static_cast<I const*>(to.group.get()),
             static_cast<I const*>(to.panel.get()), sorted.get(), to.order.get(), stream);
}

/// Of each sorted entry: whether a tile or a segment of a row begins with it, and its row and
/// column in the tile.
template <class O>
struct bound_memory {
  pointers<O> tile_at, segment_at;
  scratch<std::uint16_t> row, col;

  bound_memory(std::size_t n, void* stream)
      : tile_at(n, stream), segment_at(n, stream), row(n, stream), col(n, stream) {}
};

template <class V, class I, class O>
void mark_tiles(I const* group_ptr, column_places<V, I, O> const& places, int shift,
                entry_memory<I, O> const& of, bound_memory<O> const& to, void* stream) {
  each(static_cast<std::size_t>(places.a.nnz), stream,
       [=, row = of.row.get(), group = of.group.get(), panel = of.panel.get(),
        order = of.order.get(), tile_at = to.tile_at.get(), segment_at = to.segment_at.get(),
        local_row = to.row.get(), local_col = to.col.get()] __device__(std::size_t e) {
         O const k = order[e];
         O const last = e == 0 ? k : order[e - 1];
         bool const begins = e == 0 || group[k] != group[last] || panel[k] != panel[last];
         tile_at[e] = begins;
         segment_at[e] = begins || row[k] != row[last];
         local_row[e] = static_cast<std::uint16_t>(row[k] - group_ptr[group[k]]);
         local_col[e] = static_cast<std::uint16_t>(places(static_cast<std::size_t>(k)) &
                                                   ((I(1) << shift) - 1));
       });
}

/// Tiles and segments, as in tiled.
template <class I, class O>
struct tile_memory {
  scratch<O> tile_segment, segment_ptr;
  scratch<I> tile_group, segment_tile;

  tile_memory(std::size_t tiles, std::size_t segments, void* stream)
      : tile_segment(tiles + 1, stream), segment_ptr(segments + 1, stream),
        tile_group(tiles, stream), segment_tile(segments, stream) {}
};

/// Where n sorted entries have their tiles and segments.
template <class I, class O>
void find_tiles(std::size_t n, entry_memory<I, O> const& of, bound_memory<O> const& bounds,
                O* tile_ptr, I* tile_panel, tile_memory<I, O> const& to, void* stream) {
  each(n + 1, stream,
       [=, group = of.group.get(), panel = of.panel.get(), order = of.order.get(),
        tile_at = bounds.tile_at.get(), segment_at = bounds.segment_at.get(),
        tile_segment = to.tile_segment.get(), segment_ptr = to.segment_ptr.get(),
        tile_group = to.tile_group.get(),
        segment_tile = to.segment_tile.get()] __device__(std::size_t e) {
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
  v.group_ptr = choose_groups(from, o, to, v.groups);
  bool const ordered = choose_order(from, o, to, v);
  scratch<I> const place_of(ordered ? static_cast<std::size_t>(a.cols) : 0, stream);
  if (ordered)
    each(v.places, stream, [order = v.order, place = place_of.get()] __device__(std::size_t l) {
      place[order[l]] = static_cast<I>(l);
    });

  int const shift = std::countr_zero(static_cast<unsigned>(v.width));
  column_places<V, I, O> const places{from, v.order != nullptr, place_of.get()};
  entry_memory<I, O> const entries(n, stream);
  sort_entries(from, v, places, shift, entries, stream);
  bound_memory<O> const bounds(n, stream);
  mark_tiles(v.group_ptr, places, shift, entries, bounds, stream);
  std::size_t const tiles = bounds.tile_at.scan();
  std::size_t const segments = bounds.segment_at.scan();
  O* const group_tile = to.take<O>(v.groups + 1);
  I* const tile_panel = to.take<I>(tiles);
  O* const tile_ptr = to.take<O>(tiles + 1);
  tile_memory<I, O> const found(tiles, segments, stream);
  find_tiles(n, entries, bounds, tile_ptr, tile_panel, found, stream);
  each(v.groups + 1, stream, [=, group = found.tile_group.get()] __device__(std::size_t g) {
    group_tile[g] = static_cast<O>(lower_bound(group, static_cast<O>(tiles), static_cast<I>(g)));
  });
  v.tiles = tiles;
  v.group_tile = group_tile;
  v.tile_panel = tile_panel;
  v.tile_ptr = tile_ptr;
  shape_tiles(tiled<V, I, O>{from, tiles, segments, n, entries.order.get(), tile_ptr,
                             found.tile_segment.get(), found.segment_ptr.get(),
                             found.segment_tile.get(), bounds.segment_at.get(), bounds.row.get(),
                             bounds.col.get()},
              o, v.groups + 1, v, to);
  return v;
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(panels)

} // namespace tulle::kernels::cuda
