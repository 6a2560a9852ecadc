// SPDX-License-Identifier: Apache-2.0

/// Values of csr in the order of the tiles of panels: the part of panel_tiles.hpp that refills.
#pragma once
#include "format/detail/alike.hpp"
#include "format/detail/lanes.hpp"
#include "format/detail/panel_tiles.hpp"

namespace tulle::detail {

/// f(k, l) for n steps of `side` lanes, with ask(k) every 8 of them.
template <class Side, class Ask, class F>
void each_step(Side side, std::size_t n, Ask&& ask, F&& f) {
  for (std::size_t k = 0; k < n;) {
    ask(k);
    for (std::size_t const stop = std::min<std::size_t>(n, k + 8); k < stop; ++k)
      for (int l = 0; l < side; ++l)
        f(k, l);
  }
}

/// The bits in which any row[l][k] differs from base + local[8 k + l], for eight rows and n steps,
/// with before(k) every 8 of them. Columns of four bytes go by 32 at once: ms to compare fem 60000,
/// two threads of Zen 4, so 1.2, one by one 1.5.
template <class I, class G>
I differ_eight_rows(I const* const* row, std::size_t n, I base, std::uint16_t const* local,
                    G&& before) {
  I other = 0;
  std::size_t k = 0;
  if constexpr (sizeof(I) == sizeof(std::int32_t)) {
    using shorts = std::uint16_t __attribute__((vector_size(16)));
    using ints = std::int32_t __attribute__((vector_size(16)));
    ints const zero = {};
    ints others = {};
    for (; k + 4 <= n; k += 4) {
      if (k % 8 == 0)
        before(k);
      shorts step[4];
      std::memcpy(step, local + 8 * k, sizeof step);
      // Steps of a lane side by side, two lanes per vector.
      auto const low = [](auto a, auto b) {
        return ints(__builtin_shufflevector(shorts(a), shorts(b), 0, 8, 1, 9, 2, 10, 3, 11));
      };
      auto const high = [](auto a, auto b) {
        return ints(__builtin_shufflevector(shorts(a), shorts(b), 4, 12, 5, 13, 6, 14, 7, 15));
      };
      ints const a = low(step[0], step[1]), b = high(step[0], step[1]);
      ints const c = low(step[2], step[3]), d = high(step[2], step[3]);
      ints const two[4] = {
          __builtin_shufflevector(a, c, 0, 4, 1, 5), __builtin_shufflevector(a, c, 2, 6, 3, 7),
          __builtin_shufflevector(b, d, 0, 4, 1, 5), __builtin_shufflevector(b, d, 2, 6, 3, 7)};
      for (int l = 0; l < 8; l += 2) {
        ints even, odd;
        std::memcpy(&even, row[l] + k, sizeof even);
        std::memcpy(&odd, row[l + 1] + k, sizeof odd);
        others |= even ^ (low(two[l / 2], zero) + base);
        others |= odd ^ (high(two[l / 2], zero) + base);
      }
    }
    other = static_cast<I>(others[0] | others[1] | others[2] | others[3]);
  }
  for (; k < n; ++k) {
    if (k % 8 == 0)
      before(k);
    for (int l = 0; l < 8; ++l)
      other = static_cast<I>(
          other | (row[l][k] ^ static_cast<I>(base + local[8 * k + static_cast<std::size_t>(l)])));
  }
  return other;
}

/// f(position in b, side, positions in the csr, n, ask) for n entries of `side` rows side by side,
/// and so for all of tile t, as they are stored. Row i of the group goes on at at_row[i] and ends
/// at row_end[i]; false where it has too few. Such rows lie far from each other: ask(k) prefetches
/// 8 entries of the next ones in `array`, the one of csr that f reads, and `soon` prefetches as
/// much as f has read.
template <class V, class I, class O>
template <class View, class T, class F>
bool tile_builder<V, I, O>::follow_tile(View const& b, std::size_t t, O const* row_end, O* at_row,
                                        T const* array, slow_ask& soon, F&& f) const {
  auto at = static_cast<std::size_t>(b.tile_ptr[t]);
  std::uint16_t const* slot = b.row + b.slot_ptr[t];
  std::uint16_t const* const slots_end = b.row + b.slot_ptr[t + 1];
  O from[most_lanes];
  T const* next[most_lanes];
  for (O r = b.run_ptr[t]; r < b.run_ptr[t + 1]; ++r) {
    auto const n = static_cast<O>(b.run_len[r] > 0 ? b.run_len[r] : -b.run_len[r]);
    auto const turn = [&](auto side) { // `count` times
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
        f(at, side, from, static_cast<std::size_t>(n), [&](std::size_t k) {
          for (int l = 0; l < side; ++l)
            __builtin_prefetch(next[l] + k);
        });
        at += static_cast<std::size_t>(n) * static_cast<std::size_t>(side);
        soon.go_on(static_cast<std::size_t>(n) * static_cast<std::size_t>(side) * sizeof(T));
      }
      return true;
    };
    // The usual numbers known to the compiler.
    if (!(b.run_len[r] < 0 ? turn(std::integral_constant<int, 1>())
          : b.lanes == 8   ? turn(std::integral_constant<int, 8>())
                           : turn(b.lanes)))
      return false;
  }
  return true;
}

// A part prefetches its next group while it works on one, if that takes no more bytes than this. ms
// to copy fem 60000, two threads of Zen 4: 2.0, without prefetch 2.4. With all of a group
// prefetched before its first tile: 2.3; with rows prefetched further ahead: 2.4.
constexpr std::size_t most_soon = std::size_t{4} << 20;

template <class V, class I, class O>
template <class View>
bool tile_builder<V, I, O>::follow(View const& b, V* val) {
  bool good = true;
  bool const past = static_cast<std::size_t>(a_.nnz) * sizeof(V) >= past_caches_from;
  // Of rows that are alike the first is compared for all. Without that and one by one: 1.6 ms.
  bool const grouped =
      !val && come_in_groups(a_.row_ptr, a_.col, static_cast<std::size_t>(a_.rows));
  std::size_t const room = checked_mul(most_rows_, static_cast<std::size_t>(parts_), "panels");
  array<O> next(room, where_.memory);
  array<O> ends(room, where_.memory);
  auto const asks = [&](auto const* p, std::size_t g) {
    if (g + 1 >= group_ptr_.size())
      return slow_ask();
    O const begin = a_.row_ptr[group_ptr_[g]];
    auto const n = static_cast<std::size_t>(a_.row_ptr[group_ptr_[g + 1]] - begin);
    return n * sizeof(*p) > most_soon ? slow_ask() : slow_ask(p + begin, n);
  };
  each_unit([&](unit& u, int part) {
    auto const first = static_cast<std::size_t>(group_ptr_[u.group]);
    auto const last = static_cast<std::size_t>(group_ptr_[u.group + 1]);
    O* const at_row = next.data() + static_cast<std::size_t>(part) * most_rows_;
    O* const row_end = ends.data() + static_cast<std::size_t>(part) * most_rows_;
    for (std::size_t i = first, like = first, left = 0; i < last; ++i, --left) {
      if (left == 0) {
        like = i;
        left = grouped ? static_cast<std::size_t>(alike_from(a_.row_ptr, a_.col, i, last)) : 1;
      }
      at_row[i - first] = row_at(like, u.first);
      row_end[i - first] = row_at(like, u.last);
    }
    std::size_t const after = u.group + static_cast<std::size_t>(parts_);
    slow_ask soon = val ? asks(a_.val, after) : grouped ? slow_ask() : asks(a_.col, after);
    bool mine = true;
    for (std::size_t t = first_tile(b, u), end = first_tile(b, u, true); t < end && mine; ++t) {
      if (val) {
        follow_tile(
            b, t, row_end, at_row, a_.val, soon,
            [=, v = a_.val](std::size_t at, auto side, O const* from, std::size_t n, auto&& ask) {
              V* const to = val + at;
              if constexpr (std::is_same_v<decltype(side), std::integral_constant<int, 8>>) {
                constexpr std::size_t at_once = 64; // steps, which stay in the first cache
                V some[8 * at_once];
                for (std::size_t k = 0; k < n; k += at_once) {
                  std::size_t const steps = std::min(at_once, n - k);
                  V const* row[8];
                  for (int l = 0; l < 8; ++l)
                    row[l] = v + from[l] + k;
                  V* const out = past ? some : to + 8 * k;
                  copy_eight_rows(
                      row, steps, false, [=](std::size_t s) { return out + 8 * s; },
                      [&](std::size_t s) { ask(k + s); });
                  if (past)
                    copy_past_caches(some, 8 * steps, to + 8 * k);
                }
              } else {
                each_step(side, n, ask, [=](std::size_t k, int l) {
                  to[k * static_cast<std::size_t>(side) + static_cast<std::size_t>(l)] =
                      v[static_cast<std::size_t>(from[l]) + k];
                });
              }
            });
        continue;
      }
      I other = 0;
      auto const base = static_cast<I>(b.tile_panel[t] * static_cast<I>(b.width));
      mine =
          follow_tile(
              b, t, row_end, at_row, a_.col, soon,
              [&other, base, at_b = b.col, col = a_.col](std::size_t at, auto side, O const* from,
                                                         std::size_t n, auto&& ask) {
                I const* row[most_lanes];
                for (int l = 0; l < side; ++l)
                  row[l] = col + from[l];
                I bad = 0; // no branch per entry
                std::uint16_t const* const local = at_b + at;
                if constexpr (std::is_same_v<decltype(side), std::integral_constant<int, 8>>)
                  bad = differ_eight_rows(row, n, base, local, ask);
                else
                  each_step(side, n, ask, [&](std::size_t k, int l) {
                    bad |= static_cast<I>(
                        row[l][k] ^ static_cast<I>(base + local[k * static_cast<std::size_t>(side) +
                                                                static_cast<std::size_t>(l)]));
                  });
                other |= bad;
              }) &&
          other == 0;
    }
    after_stores();
    // Nothing is left over, here and where the next unit begins.
    for (std::size_t i = first; i < last && mine; ++i)
      mine = at_row[i - first] == row_end[i - first];
    if (!mine)
      __atomic_store_n(&good, false, __ATOMIC_RELAXED);
  });
  return good;
}

template <class V, class I, class O>
template <class View>
bool tile_builder<V, I, O>::refill(View const& b, V* val) {
  bool good = true;
  objects<room> rooms(static_cast<std::size_t>(parts_), where_.memory);
  for (int part = 0; part < parts_; ++part)
    rooms.add(make_room()).count = array<std::size_t>(most_local, std::size_t(0), where_.memory);
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
