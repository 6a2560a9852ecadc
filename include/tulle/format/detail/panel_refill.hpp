// SPDX-License-Identifier: Apache-2.0

/// Values of csr in the order of the tiles of panels: the part of panel_tiles.hpp that refills.
#pragma once
#include "tulle/format/detail/panel_tiles.hpp"

namespace tulle::detail {

/// f(position in b, position in the csr) for the entries of tile t, as they are stored. Row i of
/// the group goes on at at_row[i] and ends at row_end[i]; false where it has too few. Rows side by
/// side lie far from each other: `array`, the one of csr that f reads, is asked for a step ahead.
template <class V, class I, class O>
template <class View, class T, class F>
bool tile_builder<V, I, O>::follow_tile(View const& b, std::size_t t, O const* row_end, O* at_row,
                                        T const* array, F&& f) const {
  auto at = static_cast<std::size_t>(b.tile_ptr[t]);
  std::uint16_t const* slot = b.row + b.slot_ptr[t];
  std::uint16_t const* const slots_end = b.row + b.slot_ptr[t + 1];
  O from[most_lanes];
  T const* next[most_lanes];
  for (O r = b.run_ptr[t]; r < b.run_ptr[t + 1]; ++r) {
    auto const n = static_cast<O>(b.run_len[r] > 0 ? b.run_len[r] : -b.run_len[r]);
    auto const turn = [&](int side) { // n entries of `side` rows, `count` times
      for (O count = b.run_count[r]; count > 0; --count, slot += side) {
        for (int l = 0; l < side; ++l) {
          from[l] = at_row[slot[l]];
          if (row_end[slot[l]] - from[l] < n)
            return false;
          at_row[slot[l]] = static_cast<O>(from[l] + n);
        }
        bool const more = slots_end - slot >= 2 * side;
        for (int l = 0; l < side; ++l)
          next[l] = array + (more ? at_row[slot[side + l]] : from[l]);
        for (O k = 0; k < n;) {
          for (int l = 0; l < side; ++l)
            __builtin_prefetch(next[l] + k);
          for (O const stop = std::min<O>(n, k + 8); k < stop; ++k)
            for (int l = 0; l < side; ++l)
              f(at++, static_cast<std::size_t>(from[l] + k));
        }
      }
      return true;
    };
    // The usual numbers known to the compiler.
    if (!(b.run_len[r] < 0 ? turn(1) : b.lanes == 8 ? turn(8) : turn(b.lanes)))
      return false;
  }
  return true;
}

template <class V, class I, class O>
template <class View>
bool tile_builder<V, I, O>::follow(View const& b, V* val) {
  bool good = true;
  bool const past = static_cast<std::size_t>(a_.nnz) * sizeof(V) >= past_caches_from;
  array<O> next(checked_mul(most_rows_, static_cast<std::size_t>(parts_), "panels"), where_.memory);
  each_unit([&](unit& u, int part) {
    auto const first = static_cast<std::size_t>(group_ptr_[u.group]);
    auto const last = static_cast<std::size_t>(group_ptr_[u.group + 1]);
    O const* const row_end = a_.row_ptr + first + 1;
    O* const at_row = next.data() + static_cast<std::size_t>(part) * most_rows_;
    for (std::size_t i = first; i < last; ++i)
      at_row[i - first] = row_at(i, u.first);
    bool mine = true;
    for (std::size_t t = first_tile(b, u), end = first_tile(b, u, true); t < end && mine; ++t) {
      if (val) {
        if (past)
          follow_tile(b, t, row_end, at_row, a_.val,
                      [=, v = a_.val](std::size_t at, std::size_t k) {
                        store_past_caches(val + at, v[k]);
                      });
        else
          follow_tile(b, t, row_end, at_row, a_.val,
                      [=, v = a_.val](std::size_t at, std::size_t k) { val[at] = v[k]; });
        after_stores();
        continue;
      }
      I other = 0; // no branch an entry
      auto const base = static_cast<I>(b.tile_panel[t] * static_cast<I>(b.width));
      mine = follow_tile(b, t, row_end, at_row, a_.col,
                         [&, col = a_.col, mine = b.col](std::size_t at, std::size_t k) {
                           other |= static_cast<I>(col[k] ^ static_cast<I>(base + mine[at]));
                         }) &&
             other == 0;
    }
    // Nothing is left over, here and where the next unit begins.
    for (std::size_t i = first; i < last && mine; ++i)
      mine = at_row[i - first] == row_at(i, u.last);
    if (!mine)
      __atomic_store_n(&good, false, __ATOMIC_RELAXED);
  });
  return good;
}

template <class V, class I, class O>
template <class View>
bool tile_builder<V, I, O>::refill(View const& b, V* val) {
  bool good = true;
  std::vector<room> rooms(static_cast<std::size_t>(parts_));
  for (room& r : rooms) {
    r = make_room();
    r.count = array<std::size_t>(most_local, std::size_t(0), where_.memory);
  }
  each_unit([&](unit& u, int part) {
    room& r = rooms[static_cast<std::size_t>(part)];
    bool mine = bucket(u, r);
    std::size_t const last = first_tile(b, u, true);
    for (std::size_t t = first_tile(b, u); t < last && mine; ++t) {
      std::size_t const p = static_cast<std::size_t>(b.tile_panel[t]) - u.first;
      auto const begin = static_cast<std::size_t>(r.ptr[p]);
      auto const end = static_cast<std::size_t>(r.ptr[p + 1]);
      for (std::size_t k = end; k > begin; --k)
        r.count[r.row[k - 1]] = k - 1; // the next entry of a row
      b.slots_of(t, [&](std::uint16_t i, std::size_t at, std::size_t step, std::size_t n) {
        std::size_t k = r.count[i];
        if (k < begin || k + n > end) {
          mine = false;
          return;
        }
        r.count[i] += n;
        for (; n > 0; --n, ++k, at += step) {
          mine &= r.row[k] == i;
          mine &= r.col[k] == b.col[at];
          val[at] = r.val[k];
        }
      });
    }
    if (!mine)
      __atomic_store_n(&good, false, __ATOMIC_RELAXED);
  });
  return good;
}

} // namespace tulle::detail
