// SPDX-License-Identifier: Apache-2.0

/// Values of csr to the places that a sell has for them, and whether its columns are theirs.
#pragma once
#include "tulle/format/sell.hpp"

#include "format/detail/copy.hpp"
#include "format/detail/lanes.hpp"

#include <limits>

namespace tulle::detail {

/// in_chunk(c, lanes, ask) for each chunk, long_row(row, at, n) for each other row, whose n entries
/// begin at `at`; in parallel. `array` is the one of csr that they read. Sorted rows are not one
/// behind the other: ask(k) asks for those of the next chunk from entry k on, a line of each.
template <class V, class I, class O, class T, class F, class G>
void sell_rows(sell_view<V, I, O> const& v, csr_view<V, I, O> const& a, T const* array,
               cpu const& where, F&& in_chunk, G&& long_row) {
  auto const wide = static_cast<std::size_t>(v.chunk);
  std::size_t const chunks = v.chunks();
  auto const longs = static_cast<std::size_t>(v.longs);
  int const parts = parts_for(static_cast<std::size_t>(a.nnz) + v.places(), where.threads);
  auto const lanes_of = [&](std::size_t c) {
    return row_lanes<O>(a.row_ptr, v.chunk, v.rows_of(c), std::numeric_limits<O>::max(),
                        [&](int l) { return v.row_at(c * wide + static_cast<std::size_t>(l)); });
  };
  parallel(parts, [&](int part) {
    std::size_t const end = chunks ? split_by_entries(v.step_ptr, chunks, part + 1, parts) : 0;
    for (std::size_t c = chunks ? split_by_entries(v.step_ptr, chunks, part, parts) : 0; c < end;
         ++c) {
      T const* next[64];
      int const coming = v.perm && c + 1 < end ? v.rows_of(c + 1) : 0;
      for (int l = 0; l < coming; ++l)
        next[l] = array + a.row_ptr[v.perm[(c + 1) * wide + static_cast<std::size_t>(l)]];
      in_chunk(c, lanes_of(c), [&](auto k) {
        for (int l = 0; l < coming; ++l)
          __builtin_prefetch(next[l] + k);
      });
    }
    for (std::size_t i = longs ? split_by_entries(v.long_ptr, longs, part, parts) : 0,
                     last = longs ? split_by_entries(v.long_ptr, longs, part + 1, parts) : 0;
         i < last; ++i)
      long_row(static_cast<std::size_t>(v.long_row[i]), v.long_ptr[i],
               static_cast<std::size_t>(v.long_ptr[i + 1] - v.long_ptr[i]));
    after_stores();
  });
}

/// Whether the columns of b are those of a, which has as many entries.
template <class V, class I, class O>
bool sell_has_columns(sell<V, I, O> const& b, csr_view<V, I, O> const& a, cpu const& where) {
  sell_view<V, I, O> const v = b.view();
  bool all = true;
  auto const check = [&](bool good) {
    if (!good)
      __atomic_store_n(&all, false, __ATOMIC_RELAXED);
  };
  auto const in_chunk = [&](std::size_t c, row_lanes<O> const& lanes, auto const& ask) {
    auto const wide = static_cast<std::size_t>(v.chunk);
    for (int l = 0; l < lanes.here; ++l)
      if (lanes.n[l] != static_cast<O>(v.len[c * wide + static_cast<std::size_t>(l)]))
        return check(false);
    I other = 0; // no branch an entry
    auto const compare = [&](auto const& column) {
      lanes.each(
          [&, col = a.col](int l, O k) {
            other |= static_cast<I>(col[lanes.from[l] + k] ^ column(l, k));
          },
          ask);
    };
    switch (v.kind[c] & sell_kind::mask) {
    case sell_kind::full:
      compare([&, col = v.col + v.col_ptr[c]](int l, O k) { return col[k * v.chunk + l]; });
      break;
    case sell_kind::shorts:
      compare([&, col = v.short_col + v.col_ptr[c], base = v.base[c]](int l, O k) {
        return static_cast<I>(base + col[k * v.chunk + l]);
      });
      break;
    case sell_kind::shared:
      compare([&, col = v.col + v.col_ptr[c], row = v.row_at(c * wide)](int l, O k) {
        return static_cast<I>(col[k] + row + static_cast<I>(l));
      });
      break;
    default:
      for (int l = 0; l < lanes.here; ++l) {
        O k = lanes.from[l];
        v.entries_of(c, l, [&](std::size_t, I j) { other |= static_cast<I>(a.col[k++] ^ j); });
      }
    }
    check(other == 0);
  };
  sell_rows(v, a, a.col, where, in_chunk, [&](std::size_t i, O at, std::size_t n) {
    check(static_cast<std::size_t>(a.row_ptr[i + 1] - a.row_ptr[i]) == n &&
          same(a.col + a.row_ptr[i], v.long_col + at, n));
  });
  return all;
}

/// The values of a go to where its entries are.
template <class V, class I, class O>
void sell_values(sell<V, I, O>& b, csr_view<V, I, O> const& a, cpu const& where) {
  sell_view<V, I, O> const v = b.view();
  bool const past = b.val.bytes() >= past_caches_from;
  auto const in_chunk = [&](std::size_t c, row_lanes<O> const& lanes, auto const& ask) {
    V* const val =
        b.val.data() + static_cast<std::size_t>(v.step_ptr[c]) * static_cast<std::size_t>(v.chunk);
    if ((v.kind[c] & sell_kind::mask) != sell_kind::holed)
      return lanes.copy(
          a.val, past,
          [=, chunk = v.chunk](auto k) { return val + static_cast<std::ptrdiff_t>(k) * chunk; },
          ask);
    for (int l = 0; l < lanes.here; ++l) {
      O k = lanes.from[l];
      v.entries_of(c, l, [&](std::size_t p, I) { b.val[p] = a.val[k++]; });
    }
  };
  sell_rows(v, a, a.val, where, in_chunk, [&](std::size_t i, O at, std::size_t n) {
    std::copy_n(a.val + a.row_ptr[i], n, b.long_val.data() + at);
  });
}

} // namespace tulle::detail
