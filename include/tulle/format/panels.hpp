// SPDX-License-Identifier: Apache-2.0

/// Panels: tiles of a group of rows by a panel of columns, with 16-bit rows and columns in a tile.
/// Rows of one length in a tile are stored side by side, `lanes` at a time; the remaining rows
/// follow, row by row or entry by entry. No padding.
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
/// A slot names one row of a run. If few columns have most of the entries, columns are ordered by
/// their number of entries: panels then cover places in `order`, which lists the nonempty columns,
/// and x is gathered once per product.
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
#include "tulle/format/csr.hpp"

namespace tulle {

/// The arrays of panels, as the caller provides them.
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

// ms of a product, double, two threads, avx2 on Zen 4, panels of 1024, 2048, 4096, 8192 columns: lp
// 4.0, 3.8, 4.5, 6.5; rmat 18 2.0, 1.9, 2.0, 2.3. Of 2048, 8192, 65536: circuit 2.1, 1.9, 1.9.
// Groups of 16384, 32768, 65536 rows: rmat 18 1.9 each. Columns by their entries and in their own
// order: rmat 18 1.9, 2.1; circuit 2.6, 1.9.
struct panels_options {
  int width = 0;      ///< columns of a panel: a power of two up to 65536, or 0: as suits
  int height = 32768; ///< most rows of a group, up to 65536; very small groups take long to build
  int lanes = 8;      ///< rows side by side, up to 64; 8 has vectors
  int piece = 8;      ///< what is left of a row is kept together from this many entries on
  double hot = .5;    ///< 2^20 columns and more go by how many entries they have, if a sixteenth of
                      ///< them has more than this share of all; 0: any number of columns; 1: never
  double limit = 8;   ///< bytes, in multiples of those of csr

  template <class F>
  void fields(F&& f) {
    f("width", width);
    f("height", height);
    f("lanes", lanes);
    f("piece", piece);
    f("hot", hot);
    f("limit", limit);
  }
  static constexpr char const* variants[] = {
      "width=1:lanes=1:piece=1", "width=16:height=24:hot=0", "width=65536:lanes=2:piece=3",
      "width=1024:height=1:lanes=64", "width=32:height=64:piece=2:hot=0"};
  static constexpr char const* on_device = "width=8192:height=2048:lanes=32:piece=1";
  static constexpr char const* drawn = "width=2:lanes=2";
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
panels_view<V, I, O, S>::panels_view(unchecked_t, I rows_, I cols_, int width_, int lanes_,
                                     panels_arrays<V, I, O> const& a)
    : rows(rows_), cols(cols_), nnz(static_cast<O>(a.val.size())), width(width_), lanes(lanes_),
      places(a.order.empty() ? static_cast<std::size_t>(cols_) : a.order.size()),
      groups(a.group_ptr.empty() ? 0 : a.group_ptr.size() - 1), tiles(a.tile_panel.size()),
      runs(a.run_len.size()), slots(a.row.size()), group_ptr(a.group_ptr.data()),
      group_tile(a.group_tile.data()), order(a.order.empty() ? nullptr : a.order.data()),
      tile_panel(a.tile_panel.data()), tile_ptr(a.tile_ptr.data()), slot_ptr(a.slot_ptr.data()),
      run_ptr(a.run_ptr.data()), run_len(a.run_len.data()), run_count(a.run_count.data()),
      row(a.row.data()), col(a.col.data()), val(a.val.data()) {}

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

} // namespace tulle
