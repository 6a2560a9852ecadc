// SPDX-License-Identifier: Apache-2.0

/// New values for a dia of the same pattern.
#pragma once
#include "format/detail/copy.hpp"
#include "format/detail/dia_convert.hpp"
#include "format/detail/refill.hpp"

namespace tulle::detail {

/// Whether all slots of block b of m are entries, the rows have no strays, and those of a are as
/// long: then where an entry of a belongs follows from its position. `at` is as above.
template <class Dia, class O>
bool is_whole(Dia const& m, dia_grid const& g, dia_range const& here, std::size_t b, std::size_t at,
              O const* row_ptr) {
  auto const block = static_cast<std::size_t>(g.block);
  auto const first = static_cast<std::size_t>(g.first_row(b));
  if (block % 8 != 0 || g.last_row(b) + 1 != g.first_row(b) + g.block || m.symmetric ||
      (at < m.stray_row.size() && m.stray_row[at] <= g.last_row(b)))
    return false;
  bool whole = true;
  for (std::size_t i = first; i < first + block; ++i)
    whole &= static_cast<std::size_t>(row_ptr[i + 1] - row_ptr[i]) == here.count;
  std::uint8_t const* const mask =
      m.mask.data() + static_cast<std::size_t>(m.block_ptr[b]) * (block / 8);
  for (std::size_t k = 0; k < here.count * (block / 8); ++k)
    whole &= mask[k] == 0xff;
  return whole;
}

/// Whether slot `row` of a mask is stored.
inline bool is_stored(std::uint8_t const* mask, std::size_t row) {
  return mask[row / 8] >> row % 8 & 1;
}

/// A row that has more strays than diagonals is compared and copied in stretches, which lie in m as
/// they do in csr.
template <class Dia>
bool is_mostly_stray(Dia const& m, dia_range const& diagonals, std::size_t strays) {
  return strays > diagonals.count && !m.symmetric;
}
/// Which are these, for dia_runs(): `at` is where the strays of the next row are. With a look for
/// runs of them fem 60000 took 8.3 ms instead of 5.8, two threads of Zen 3.
template <class Dia>
auto mostly_stray(Dia const& m, dia_strays const& at) {
  return [&](std::size_t row, dia_range const& diagonals) {
    return is_mostly_stray(m, diagonals, strays_at(m, at.row, row));
  };
}

/// off(k, stray, n) for the stretches of such a row, on(k, d) for what it has on diagonals, as m
/// has them: k counts from the row's first entry, stray from m's first.
template <class Dia, class Off, class On>
void dia_stretches(Dia const& m, dia_run const& r, dia_strays const& at, std::size_t strays,
                   Off off, On on) {
  auto const block = static_cast<std::size_t>(m.block);
  std::size_t const bytes = (block + 7) / 8;
  std::uint8_t const* mask = m.mask.data() + static_cast<std::size_t>(m.block_ptr[r.block]) * bytes;
  auto const* const col = m.stray_col.data();
  std::size_t stray = at.entry;
  std::size_t k = 0;
  for (std::size_t d = 0; d < r.diagonals.count; ++d, mask += bytes) {
    if (!is_stored(mask, r.row % block))
      continue;
    auto const here = static_cast<std::int64_t>(m.diagonal[r.diagonals.first + d]) +
                      static_cast<std::int64_t>(r.row);
    auto const next = static_cast<std::size_t>(
        std::lower_bound(col + stray, col + at.entry + strays, here,
                         [](auto j, std::int64_t least) { return j < least; }) -
        col);
    off(k, stray, next - stray);
    k += next - stray;
    stray = next;
    on(k++, d);
  }
  off(k, stray, at.entry + strays - stray);
}

/// Whether a has that row as m does.
template <class Dia, class V, class I, class O>
bool dia_holds_stretches(csr_view<V, I, O> const& a, Dia const& m, dia_run const& r,
                         dia_strays const& at, std::size_t strays) {
  std::size_t const row = r.row % static_cast<std::size_t>(m.block);
  std::size_t const bytes = (static_cast<std::size_t>(m.block) + 7) / 8;
  std::uint8_t const* const mask =
      m.mask.data() + static_cast<std::size_t>(m.block_ptr[r.block]) * bytes;
  std::size_t length = strays;
  for (std::size_t d = 0; d < r.diagonals.count; ++d)
    length += is_stored(mask + d * bytes, row);
  if (length != r.length)
    return false;
  bool good = true;
  I const* const col = a.col + r.entry;
  dia_stretches(
      m, r, at, strays,
      [&](std::size_t k, std::size_t stray, std::size_t n) {
        good = good && same(col + k, m.stray_col.data() + stray, n);
      },
      [&](std::size_t k, std::size_t d) {
        good = good && static_cast<std::int64_t>(col[k]) - static_cast<std::int64_t>(r.row) ==
                           static_cast<std::int64_t>(m.diagonal[r.diagonals.first + d]);
      });
  return good;
}

/// Whether the entries of blocks [b, end) of a are all stored in m, and ascend in their rows.
template <class Dia, class V, class I, class O>
bool dia_holds(csr_view<V, I, O> const& a, dia_grid const& g, Dia const& m, std::size_t b,
               std::size_t end) {
  auto const block = static_cast<std::size_t>(g.block);
  std::size_t const bytes = (block + 7) / 8;
  dia_strays at(m.stray_row, m.stray_ptr, g.first_row(b));
  bool good = true;
  auto const run = [&](dia_run const& r) {
    std::size_t const in_block = r.row % block;
    auto const first = static_cast<std::size_t>(m.block_ptr[r.block]);
    std::size_t const n = strays_at(m, at.row, r.row);
    if (is_mostly_stray(m, r.diagonals, n)) {
      good = good && dia_holds_stretches(a, m, r, at, n);
      ++at.row;
      at.entry += n;
      return;
    }
    for (std::size_t i = 1; n != 0 && i < r.rows; ++i)
      good = good && strays_at(m, at.row + i, r.row + i) == n;
    for (std::size_t k = r.entry + 1; k < r.entry + r.length; ++k)
      good &= a.col[k - 1] < a.col[k];
    if (!good)
      return;
    std::size_t const others = dia_sort(
        r, a.col, m,
        [&](std::size_t, std::size_t d) {
          mask_bits(
              m.mask.data() + (first + d) * bytes, in_block, in_block + r.rows,
              [&](std::uint8_t byte, std::uint8_t bits) { good = good && (byte & bits) == bits; });
        },
        [&](std::size_t k, std::size_t j) {
          good = good && j < n;
          for (std::size_t i = 0; good && i < r.rows; ++i)
            good = m.stray_col[at.entry + i * n + j] == a.col[k + i * r.length];
        });
    good = good && others == n;
    at.row += n != 0 ? r.rows : 0;
    at.entry += n * r.rows;
  };
  for (; b < end && good; ++b) {
    dia_range const here(g, m.diagonal.data(), m.diagonal.size(), b);
    if (!is_whole(m, g, here, b, at.row, a.row_ptr)) {
      dia_runs(a, g, m.diagonal, b, b + 1, run, mostly_stray(m, at));
      continue;
    }
    auto row = static_cast<I>(g.first_row(b));
    I const* col = a.col + a.row_ptr[row];
    I other = 0; // no branch an entry
    for (std::size_t i = 0; i < block; ++i, ++row)
      for (std::size_t d = 0; d < here.count; ++d)
        other |= static_cast<I>(*col++ ^ static_cast<I>(m.diagonal[here.first + d] + row));
    good = other == 0;
  }
  return good;
}

/// The values of blocks [b, end) of a, whose entries m holds: those on diagonals to `all`, a place
/// for each slot, the others to `strays`.
template <class Dia, class V, class I, class O>
void dia_refill(csr_view<V, I, O> const& a, dia_grid const& g, Dia const& m, V* all, V* strays,
                std::size_t b, std::size_t end) {
  auto const block = static_cast<std::size_t>(g.block);
  dia_strays at(m.stray_row, m.stray_ptr, g.first_row(b));
  auto const run = [&](dia_run const& r) {
    std::size_t const n = strays_at(m, at.row, r.row);
    V* const out = all + static_cast<std::size_t>(m.block_ptr[r.block]) * block + r.row % block;
    if (is_mostly_stray(m, r.diagonals, n)) {
      V const* const val = a.val + r.entry;
      dia_stretches(
          m, r, at, n,
          [&](std::size_t k, std::size_t stray, std::size_t count) {
            std::copy_n(val + k, count, strays + stray);
          },
          [&](std::size_t k, std::size_t d) { out[d * block] = val[k]; });
    } else {
      dia_sort(
          r, a.col, m,
          [&](std::size_t k, std::size_t d) { dia_copy(r, a.val, k, out + d * block); },
          [&](std::size_t k, std::size_t j) {
            for (std::size_t i = 0; i < r.rows; ++i)
              strays[at.entry + i * n + j] = a.val[k + i * r.length];
          });
    }
    at.row += n != 0 ? r.rows : 0;
    at.entry += n * r.rows;
  };
  for (; b < end; ++b) {
    dia_range const here(g, m.diagonal.data(), m.diagonal.size(), b);
    if (is_whole(m, g, here, b, at.row, a.row_ptr)) {
      V const* const from = a.val + a.row_ptr[g.first_row(b)];
      V* const to = all + static_cast<std::size_t>(m.block_ptr[b]) * block;
      for (std::size_t d = 0; d < here.count; ++d) {
        ask_for(from + (here.count + d) * block, block);
        for (std::size_t i = 0; i < block; ++i)
          to[d * block + i] = from[i * here.count + d];
      }
    } else {
      dia_runs(a, g, m.diagonal, b, b + 1, run, mostly_stray(m, at));
    }
  }
}

} // namespace tulle::detail
