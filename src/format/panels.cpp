// SPDX-License-Identifier: Apache-2.0
#include "tulle/format/panels.hpp"

#include "tulle/core/limited.hpp"

#include "format/detail/check_pointers.hpp"
#include "format/detail/check_room.hpp"
#include "format/detail/panel_refill.hpp"
#include "format/detail/refill.hpp"
#include "format/instantiate.hpp"

#include <algorithm>
#include <bit>

namespace tulle {

template <class V, class I, class O, space S>
panels_view<V, I, O, S>::panels_view(I rows, I cols, int width, int lanes,
                                     panels_arrays<V, I, O> const& a) requires(S == space::host)
    : panels_view(unchecked, rows, cols, width, lanes, a) {
  detail::check_shape("panels", rows, cols);
  auto const sized = [](char const* name, std::size_t is, std::size_t expected) {
    if (is != expected)
      fail(errc::bad_structure, "panels: %s has %zu elements, expected %zu", name, is, expected);
  };
  bool const none = rows == 0 && a.group_ptr.empty(); // 0 rows may do without pointers
  sized("group_ptr", a.group_ptr.size(), none ? 0 : groups + 1);
  sized("group_tile", a.group_tile.size(), none ? 0 : groups + 1);
  sized("tile_ptr", a.tile_ptr.size(), none ? 0 : tiles + 1);
  sized("slot_ptr", a.slot_ptr.size(), none ? 0 : tiles + 1);
  sized("run_ptr", a.run_ptr.size(), none ? 0 : tiles + 1);
  sized("run_count", a.run_count.size(), runs);
  sized("col", a.col.size(), a.val.size());
  for (std::size_t const size : {a.val.size(), tiles, runs, slots})
    narrow<O>(size, "number of entries");
  validate();
}

template <class V, class I, class O, space S>
void panels_view<V, I, O, S>::validate_pointers() const {
  auto const pointers = [](char const* name, auto const* p, std::size_t n, std::size_t end) {
    detail::check_pointers(name, p, n, narrow<std::remove_cvref_t<decltype(*p)>>(end, name));
  };
  pointers("panels: group_ptr", group_ptr, groups, static_cast<std::size_t>(rows));
  pointers("panels: group_tile", group_tile, groups, tiles);
  pointers("panels: tile_ptr", tile_ptr, tiles, static_cast<std::size_t>(nnz));
  pointers("panels: slot_ptr", slot_ptr, tiles, slots);
  pointers("panels: run_ptr", run_ptr, tiles, runs);
  for (std::size_t g = 0; g < groups; ++g)
    if (static_cast<std::size_t>(group_ptr[g + 1] - group_ptr[g]) > detail::most_local)
      fail(errc::bad_structure, "panels: group %zu has %lld rows, at most %zu", g,
           static_cast<long long>(group_ptr[g + 1] - group_ptr[g]), detail::most_local);
}

template <class V, class I, class O, space S>
void panels_view<V, I, O, S>::validate_tile(std::size_t t, std::size_t group_rows,
                                            std::uint64_t* last) const {
  auto const bad = [&](char const* what, long long is) {
    fail(errc::bad_structure, "panels: tile %zu: %s, %lld", t, what, is);
  };
  auto slots_left = static_cast<std::size_t>(slot_ptr[t + 1] - slot_ptr[t]);
  auto entries_left = static_cast<std::size_t>(tile_ptr[t + 1] - tile_ptr[t]);
  for (O r = run_ptr[t]; r < run_ptr[t + 1]; ++r) {
    auto const most = static_cast<I>(detail::most_local);
    if (run_len[r] == 0 || run_len[r] > most || run_len[r] < -most)
      bad("run_len is", static_cast<long long>(run_len[r]));
    auto const side = static_cast<std::size_t>(run_len[r] > 0 ? lanes : 1);
    auto const length = static_cast<std::size_t>(run_len[r] > 0 ? run_len[r] : -run_len[r]);
    if (run_count[r] < 0 || static_cast<std::size_t>(run_count[r]) > slots_left / side ||
        static_cast<std::size_t>(run_count[r]) > entries_left / (side * length))
      bad("more than its slots and entries, run_count is", static_cast<long long>(run_count[r]));
    slots_left -= static_cast<std::size_t>(run_count[r]) * side;
    entries_left -= static_cast<std::size_t>(run_count[r]) * side * length;
  }
  if (slots_left != 0 || entries_left != 0)
    bad("runs leave slots or entries over", static_cast<long long>(slots_left + entries_left));
  auto const first = static_cast<std::size_t>(tile_panel[t]) * static_cast<std::size_t>(width);
  std::size_t const here = std::min(static_cast<std::size_t>(width), places - first);
  slots_of(t, [&](std::uint16_t i, std::size_t k, std::size_t step, std::size_t n) {
    if (i >= group_rows)
      bad("row is outside of its group", i);
    for (; n > 0; --n, k += step) {
      if (col[k] >= here)
        bad("col is outside of its panel", col[k]);
      // The last column of the row, and the tile that it was seen in.
      std::uint64_t const seen = static_cast<std::uint64_t>(t + 1) << 17 | (col[k] + 1u);
      if (seen <= last[i])
        bad("col does not ascend in its row", col[k]);
      last[i] = seen;
    }
  });
}

template <class V, class I, class O, space S>
void panels_view<V, I, O, S>::validate() const {
  detail::check_shape("panels", rows, cols);
  if (char const* const name = detail::missing_array(*this))
    fail(errc::bad_structure, "panels: %s is null, but not empty", name);
  if (lanes < 1 || lanes > detail::most_lanes || width < 1 ||
      width > static_cast<int>(detail::most_local) ||
      !std::has_single_bit(static_cast<unsigned>(width)))
    fail(errc::bad_structure, "panels: %d lanes, expected 1 to %d; width %d, a power of two to %zu",
         lanes, detail::most_lanes, width, detail::most_local);
  validate_pointers();
  if (order) {
    detail::check_indices("panels: order", order, places, cols);
    detail::check_distinct("panels: order has column", order, places, cols);
    for (std::size_t l = 0; l < places; ++l) {
      if (l % static_cast<std::size_t>(width) != 0 && order[l] < order[l - 1])
        fail(errc::bad_structure, "panels: order[%zu] is %lld after %lld in one panel", l,
             static_cast<long long>(order[l]), static_cast<long long>(order[l - 1]));
    }
  }
  std::size_t const bands =
      (places + static_cast<std::size_t>(width) - 1) / static_cast<std::size_t>(width);
  array<std::uint64_t> last(std::min(detail::most_local, static_cast<std::size_t>(rows)),
                            std::uint64_t(0));
  for (std::size_t g = 0; g < groups; ++g)
    for (auto t = static_cast<std::size_t>(group_tile[g]);
         t < static_cast<std::size_t>(group_tile[g + 1]); ++t) {
      if (tile_panel[t] < 0 || static_cast<std::size_t>(tile_panel[t]) >= bands ||
          (t > static_cast<std::size_t>(group_tile[g]) && tile_panel[t] <= tile_panel[t - 1]))
        fail(errc::bad_structure, "panels: tile_panel[%zu] is %lld: outside or not ascending", t,
             static_cast<long long>(tile_panel[t]));
      validate_tile(t, static_cast<std::size_t>(group_ptr[g + 1] - group_ptr[g]), last.data());
    }
}

template <class V, class I, class O, space S>
csr<V, I, O> panels_view<V, I, O, S>::to_csr(cpu const& policy) const {
  detail::limited const space("panels", policy);
  cpu const& where = space.counted();
  auto const n = static_cast<std::size_t>(rows);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, O(0), where.memory),
                 array<I>(static_cast<std::size_t>(nnz), where.memory),
                 array<V>(static_cast<std::size_t>(nnz), where.memory));
  if (nnz == 0)
    return c;
  int const parts = parts_for(static_cast<std::size_t>(nnz), where.threads);
  // f(row, entry, step, entries, panel) for each slot of the groups, in parallel.
  auto const each = [&](auto&& f) {
    parallel(parts, [&](int part) {
      for (std::size_t g = split(groups, part, parts); g < split(groups, part + 1, parts); ++g)
        for (O t = group_tile[g]; t < group_tile[g + 1]; ++t)
          slots_of(static_cast<std::size_t>(t),
                   [&](std::uint16_t i, std::size_t k, std::size_t step, std::size_t length) {
                     f(static_cast<std::size_t>(group_ptr[g]) + i, k, step, length, tile_panel[t]);
                   });
    });
  };
  each([&](std::size_t i, std::size_t, std::size_t, std::size_t length, I) {
    c.row_ptr[i] = static_cast<O>(c.row_ptr[i] + static_cast<O>(length));
  });
  O sum = 0;
  for (std::size_t i = 0; i <= n; ++i)
    sum = static_cast<O>(sum + std::exchange(c.row_ptr[i], sum));
  each([&](std::size_t i, std::size_t k, std::size_t step, std::size_t length, I panel) {
    for (; length > 0; --length, k += step) {
      auto const at = static_cast<std::size_t>(c.row_ptr[i]++);
      c.col[at] = column(panel, col[k]);
      c.val[at] = val[k];
    }
  });
  for (std::size_t i = n; i > 0; --i) // each is now where its row ends
    c.row_ptr[i] = c.row_ptr[i - 1];
  c.row_ptr[0] = 0;
  return order ? c.to_csr(where) : std::move(c);
}

template <class V, class I, class O>
panels<V, I, O> panels<V, I, O>::from_csr(csr_view<V, I, O> a, panels_options o,
                                          cpu const& policy) {
  detail::limited const space("panels", policy);
  cpu const& where = space.counted();
  detail::check_panels_options(o);
  detail::canonical<V, I, O> const c(a, where);
  panels b;
  b.rows = a.rows;
  b.cols = a.cols;
  b.lanes = o.lanes;
  if (a.rows == 0)
    return b;
  b.order = detail::choose_panels(c.view, o, where, b.width);
  b.group_ptr = detail::choose_groups(c.view, o, where);
  detail::tile_builder<V, I, O> builder(c.view, b.group_ptr, b.width, b.order, where);
  builder.shape(o, b.col, b.val);
  std::size_t const tiles = builder.tiles();
  std::size_t const runs = builder.runs();
  std::size_t const slots = builder.slots();
  detail::check_room("panels",
                     detail::panels_bytes<V, I, O>(b.val.size(), slots, tiles, runs,
                                                   b.order.size() + 2 * b.group_ptr.size()),
                     detail::bytes_of(c.view), o.limit);
  b.group_tile = array<O>(b.group_ptr.size(), where.memory);
  b.tile_panel = array<I>(tiles, where.memory);
  b.tile_ptr = array<O>(tiles + 1, where.memory);
  b.slot_ptr = array<O>(tiles + 1, where.memory);
  b.run_ptr = array<O>(tiles + 1, where.memory);
  b.run_len = array<I>(runs, where.memory);
  b.run_count = array<O>(runs, where.memory);
  b.row = array<std::uint16_t>(slots, where.memory);
  builder.join(b);
  return b;
}

template <class V, class I, class O>
void panels<V, I, O>::refill(csr_view<V, I, O> a, cpu const& policy) {
  detail::limited const space("panels", policy);
  cpu const& where = space.counted();
  detail::check_arrays("panels", *this);
  using builder = detail::tile_builder<V, I, O>;
  if (order.empty())
    return detail::refill_if(
        "panels", rows, cols, view().nnz, a, where,
        [&](csr_view<V, I, O> const& c) {
          return val.empty() || builder(c, group_ptr, width, order, where).follow(view(), nullptr);
        },
        [&](csr_view<V, I, O> const& c) {
          if (!val.empty())
            builder(c, group_ptr, width, order, where).follow(view(), val.data());
        });
  detail::canonical<V, I, O> const c(a, where);
  if (c.view.rows != rows || c.view.cols != cols ||
      static_cast<std::size_t>(c.view.nnz) != val.size())
    detail::refill_mismatch("panels");
  // Into an array of their own first, so that a refusal leaves the old values whole.
  array<V> fresh(val.size(), where.memory);
  if (!builder(c.view, group_ptr, width, order, where).refill(view(), fresh.data()))
    detail::refill_mismatch("panels");
  int const parts = parts_for(val.size(), where.threads);
  parallel(parts, [&](int part) {
    std::copy(fresh.begin() + split(val.size(), part, parts),
              fresh.begin() + split(val.size(), part + 1, parts),
              val.begin() + split(val.size(), part, parts));
  });
}

} // namespace tulle

TULLE_INSTANTIATE_FORMAT(panels, every)
