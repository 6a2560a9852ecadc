// SPDX-License-Identifier: Apache-2.0

/// Panels: tiles of a group of rows by a panel of columns, with 16-bit rows and columns in a tile.
/// A tile's rows lie side by side, `lanes` of one length at a time; what is left of them follows,
/// row by row or entry by entry. No padding.
///
///     1 . 2 .      width = 2      group_ptr    0                        4
///     . 3 . .      lanes = 2      group_tile   0                        2
///     . . . 4                     tile_panel   0             1
///     5 6 7 .                     tile_ptr     0             4          7
///                                 slot_ptr     0             4          7
///                                 run_ptr      0             2          4
///                                 run_len      1    -1       1    -1
///                                 run_count    1    2        1    1
///                                 row          3 0  1 3      0 2  3
///                                 col          0 0  1 1      0 1  0
///                                 val          5 1  3 6      2 4  7
///
/// Slots name the rows: one for each row of a run. Where few columns have most of the entries,
/// columns go by how many they have: panels are then of places in `order`, which has the columns
/// that have any, and x is gathered once a product.
///
/// Good for   columns without order over a large x: linear programs, graphs, circuits. A panel's x
///            stays in the first cache, or in the second where panels are wide.
/// Bad for    columns that are close together anyway: csr and sell do not add to sums in memory.
/// Space      (V + 2) * nnz + 2 * slots + (I + 3 O) * tiles + (I + O) * runs.
/// From       rows side by side as in SELL-C-sigma, of a tile instead of the matrix; 16 bits in
///            blocks as in Yzelman & Roose, IEEE Trans. Parallel Distrib. Syst. 25(1), 2014.
///
/// Invariants (validate() checks all of them)
///   group_ptr, group_tile, tile_ptr, slot_ptr, run_ptr begin at 0, do not decrease, and end at
///   rows, tiles, nnz, slots, runs; groups of at most 65536 rows; width a power of two up to that
///   no order: a place is a column. Else columns occur once and ascend within a panel
///   tile_panel ascends within a group
///   run_len n > 0: run_count times `lanes` rows of n entries, entry by entry; n < 0: run_count
///   rows of -n entries; slots and entries of a tile add up
///   row < rows of the group, col < places of the panel; columns of a row ascend, in order of slots
#pragma once
#include "tulle/format/detail/panel_refill.hpp"

namespace tulle {

/// The arrays of panels, as a caller has them.
template <class V, class I, class O>
struct panels_arrays {
  std::span<I const> group_ptr;
  std::span<O const> group_tile;
  std::span<I const> order, tile_panel;
  std::span<O const> tile_ptr, slot_ptr, run_ptr;
  std::span<I const> run_len;
  std::span<O const> run_count;
  std::span<std::uint16_t const> row, col;
  std::span<V const> val;
};

template <class V, class I = std::int32_t, class O = I, space S = space::host>
struct panels_view {
  using value = V;
  using index = I;
  using offset = O;

  I rows = 0;
  I cols = 0;
  O nnz = 0;
  int width = 1;          ///< places of a panel
  int lanes = 1;          ///< rows side by side
  std::size_t places = 0; ///< columns in order, or all of them
  std::size_t groups = 0, tiles = 0, runs = 0, slots = 0;
  I const* group_ptr = nullptr;       ///< groups + 1: rows; may be null when rows == 0, as may all
  O const* group_tile = nullptr;      ///< groups + 1: tiles of a group
  I const* order = nullptr;           ///< places: the column of each, or null: itself
  I const* tile_panel = nullptr;      ///< tiles
  O const* tile_ptr = nullptr;        ///< tiles + 1: entries of a tile
  O const* slot_ptr = nullptr;        ///< tiles + 1
  O const* run_ptr = nullptr;         ///< tiles + 1
  I const* run_len = nullptr;         ///< runs
  O const* run_count = nullptr;       ///< runs
  std::uint16_t const* row = nullptr; ///< slots: within the group
  std::uint16_t const* col = nullptr; ///< nnz: within the panel
  V const* val = nullptr;             ///< nnz
  std::uint64_t serial = 0;           ///< of the owner's pattern; 0: borrowed arrays

  panels_view() = default;
  panels_view(unchecked_t, I rows, I cols, int width, int lanes, panels_arrays<V, I, O> const& a);
  /// Borrows the caller's arrays after checking every invariant, once: O(rows + cols + nnz).
  panels_view(I rows, I cols, int width, int lanes,
              panels_arrays<V, I, O> const& a) requires(S == space::host);

  /// f(row within the group, first entry, from an entry to the next, entries) for each slot of tile
  /// t, in order.
  template <class F>
  void slots_of(std::size_t t, F&& f) const;
  /// The column at local column c of a panel.
  I column(I panel, std::uint16_t c) const {
    I const place = static_cast<I>(panel * static_cast<I>(width) + c);
    return order ? order[place] : place;
  }

  /// f(name, pointer, size) for each array.
  template <class F>
  void arrays(F&& f) const {
    auto const pointers = [&](auto const* p, std::size_t n) { return p || rows > 0 ? n + 1 : 0; };
    f("group_ptr", group_ptr, pointers(group_ptr, groups));
    f("group_tile", group_tile, pointers(group_tile, groups));
    f("order", order, order ? places : 0);
    f("tile_panel", tile_panel, tiles);
    f("tile_ptr", tile_ptr, pointers(tile_ptr, tiles));
    f("slot_ptr", slot_ptr, pointers(slot_ptr, tiles));
    f("run_ptr", run_ptr, pointers(run_ptr, tiles));
    f("run_len", run_len, runs);
    f("run_count", run_count, runs);
    f("row", row, slots);
    f("col", col, static_cast<std::size_t>(nnz));
    f("val", val, static_cast<std::size_t>(nnz));
  }

  void validate() const;
  csr<V, I, O> to_csr(cpu const& where = {}) const;

private:
  void validate_pointers() const;
  void validate_tile(std::size_t t, std::size_t group_rows, std::uint64_t* last) const;
};

template <class V, class I = std::int32_t, class O = I>
struct panels {
  using options = panels_options;

  I rows = 0;
  I cols = 0;
  int width = 1;
  int lanes = 1;
  array<I> group_ptr;
  array<O> group_tile;
  array<I> order, tile_panel;
  array<O> tile_ptr, slot_ptr, run_ptr;
  array<I> run_len;
  array<O> run_count;
  array<std::uint16_t> row, col;
  array<V> val;
  detail::serial_number serial; ///< of the pattern

  static panels from_csr(csr_view<V, I, O> a, panels_options o = {}, cpu const& where = {});
  csr<V, I, O> to_csr(cpu const& where = {}) const {
    return detail::checked(*this, where).to_csr(where);
  }
  /// New values on the same pattern; errc::bad_structure if the pattern differs.
  void refill(csr_view<V, I, O> a, cpu const& where = {});
  panels_view<V, I, O> view() const& {
    return detail::numbered(panels_view<V, I, O>{unchecked, rows, cols, width, lanes, arrays()},
                            serial);
  }
  void view() const&& = delete; // it would dangle
  void validate() const { panels_view<V, I, O>(rows, cols, width, lanes, arrays()); }
  std::size_t bytes() const { return detail::bytes_of(view()); }
  /// f(arrays...), all of them in the order of the view's.
  template <class M, class F>
  static void members(M& m, F&& f) {
    f(m.group_ptr, m.group_tile, m.order, m.tile_panel, m.tile_ptr, m.slot_ptr, m.run_ptr,
      m.run_len, m.run_count, m.row, m.col, m.val);
  }
  friend bool operator==(panels const&, panels const&) = default;

private:
  panels_arrays<V, I, O> arrays() const {
    return {group_ptr, group_tile, order,     tile_panel, tile_ptr, slot_ptr,
            run_ptr,   run_len,    run_count, row,        col,      val};
  }
};

template <class V, class I, class O, space S>
panels_view<V, I, O, S>::panels_view(unchecked_t, I rows, I cols, int width, int lanes,
                                     panels_arrays<V, I, O> const& a)
    : rows(rows), cols(cols), nnz(static_cast<O>(a.val.size())), width(width), lanes(lanes),
      places(a.order.empty() ? static_cast<std::size_t>(cols) : a.order.size()),
      groups(a.group_ptr.empty() ? 0 : a.group_ptr.size() - 1), tiles(a.tile_panel.size()),
      runs(a.run_len.size()), slots(a.row.size()), group_ptr(a.group_ptr.data()),
      group_tile(a.group_tile.data()), order(a.order.empty() ? nullptr : a.order.data()),
      tile_panel(a.tile_panel.data()), tile_ptr(a.tile_ptr.data()), slot_ptr(a.slot_ptr.data()),
      run_ptr(a.run_ptr.data()), run_len(a.run_len.data()), run_count(a.run_count.data()),
      row(a.row.data()), col(a.col.data()), val(a.val.data()) {}

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
template <class F>
void panels_view<V, I, O, S>::slots_of(std::size_t t, F&& f) const {
  auto entry = static_cast<std::size_t>(tile_ptr[t]);
  std::uint16_t const* slot = row + slot_ptr[t];
  for (O r = run_ptr[t]; r < run_ptr[t + 1]; ++r) {
    bool const wide = run_len[r] > 0;
    auto const side = static_cast<std::size_t>(wide ? lanes : 1);
    auto const length = static_cast<std::size_t>(wide ? run_len[r] : -run_len[r]);
    for (O n = run_count[r]; n > 0; --n, entry += side * length)
      for (std::size_t lane = 0; lane < side; ++lane)
        f(*slot++, entry + lane, side, length);
  }
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
csr<V, I, O> panels_view<V, I, O, S>::to_csr(cpu const& where) const {
  auto const n = static_cast<std::size_t>(rows);
  csr<V, I, O> c(unchecked, rows, cols, array<O>(n + 1, O(0), where.memory),
                 array<I>(static_cast<std::size_t>(nnz), where.memory),
                 array<V>(static_cast<std::size_t>(nnz), where.memory));
  if (nnz == 0)
    return c;
  int const parts = detail::parts_for(static_cast<std::size_t>(nnz), where.threads);
  // f(row, entry, step, entries, panel) for each slot of the groups, in parallel.
  auto const each = [&](auto&& f) {
    detail::parallel(parts, [&](int part) {
      for (std::size_t g = detail::split(groups, part, parts);
           g < detail::split(groups, part + 1, parts); ++g)
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
panels<V, I, O> panels<V, I, O>::from_csr(csr_view<V, I, O> a, panels_options o, cpu const& where) {
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
void panels<V, I, O>::refill(csr_view<V, I, O> a, cpu const& where) {
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
  // Beside the old ones at first, so that a refusal leaves those whole.
  array<V> fresh(val.size(), where.memory);
  if (!builder(c.view, group_ptr, width, order, where).refill(view(), fresh.data()))
    detail::refill_mismatch("panels");
  int const parts = detail::parts_for(val.size(), where.threads);
  detail::parallel(parts, [&](int part) {
    std::copy(fresh.begin() + detail::split(val.size(), part, parts),
              fresh.begin() + detail::split(val.size(), part + 1, parts),
              val.begin() + detail::split(val.size(), part, parts));
  });
}

} // namespace tulle
