// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y where rows are sorted by length and stored entry by entry in sections:
// jds, jds_csr, jds_ell. Long rows are kept in coo.
//
// A lane is a row, as in ell: strips of rows, whose sums stay in L1, a few columns at a time. The
// rows that reach a column come first, so without padding later columns are just shorter; where
// fewer rows are left than two vectors hold, each is summed by itself. A row's entries are added in
// order, whatever strip it is in, so the bits depend on the matrix alone. Then sums are written to
// y by perm. Padding of jds_ell is as in ell: a sum that is NaN is computed again.
//
// The coo is computed in tiles, runs of equal rows in each: the first piece of a row is stored, the
// others are added in order. The transpose scatters rows, then entries of the coo: scatter.hpp.
#pragma once
#include "tulle/format/detail/jds_base.hpp"

#include "cpu/spmv/columns.hpp"
#include "cpu/spmv/pieces.hpp"
#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/scatter.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Of work per row; a slot is one step; other numbers not measured
constexpr std::int64_t sorted_row_steps = 3;
constexpr std::size_t store_block = 64; // rows that are tested together
// Entries of the coo that the transpose takes at once; other numbers have not been measured.
constexpr std::int64_t coo_unit = 4096;

/// Slots of a section before its row r.
template <class O>
HWY_INLINE std::int64_t slots_before(detail::jagged_section<O> const& s, std::size_t r) {
  std::size_t const k = s.length(r); // diagonals that reach row r; the others end before it
  return static_cast<std::int64_t>(r * k) + static_cast<std::int64_t>(s.diag[s.width] - s.diag[k]);
}
template <class I>
HWY_INLINE std::int64_t slots_before(detail::padded_section<I> const& s, std::size_t r) {
  return static_cast<std::int64_t>(r * s.width);
}

/// The section that has a place, or the last.
template <class View>
std::size_t find_section(View const& a, std::size_t place) {
  std::size_t lo = 0;
  std::size_t hi = a.sections();
  while (hi - lo > 1) {
    std::size_t const mid = (lo + hi) / 2;
    if (a.section(mid).first <= place)
      lo = mid;
    else
      hi = mid;
  }
  return lo;
}

/// The first place of share `part` of `parts`, by slots and rows.
template <class View>
std::int64_t first_place(View const& a, std::int64_t part, std::int64_t parts) {
  auto const longs = static_cast<std::int64_t>(a.longs);
  if (part == parts)
    return a.rows;
  std::int64_t const all = static_cast<std::int64_t>(a.stored) +
                           sorted_row_steps * (static_cast<std::int64_t>(a.rows) - longs);
  std::int64_t const target = all / parts * part + all % parts * part / parts;
  auto const before = [&](auto const& s, std::size_t r) { // row r of a section
    return static_cast<std::int64_t>(s.start(0)) + slots_before(s, r) +
           sorted_row_steps * (static_cast<std::int64_t>(s.first + r) - longs);
  };
  std::size_t lo = 0; // the last section that begins at or before the target
  for (std::size_t hi = a.sections(); hi - lo > 1;) {
    std::size_t const mid = (lo + hi) / 2;
    if (before(a.section(mid), 0) <= target)
      lo = mid;
    else
      hi = mid;
  }
  auto const s = a.section(lo);
  std::size_t r = 0;
  for (std::size_t end = s.rows; r < end;) {
    std::size_t const mid = (r + end) / 2;
    if (before(s, mid) < target)
      r = mid + 1;
    else
      end = mid;
  }
  return static_cast<std::int64_t>(s.first + r);
}

/// Slots [k, end) of row r of a section, added to a sum.
template <class Section, class V, class I>
HWY_INLINE V add_slots(Section const& s, I const* col, V const* val, V const* x, std::size_t r,
                       std::size_t k, std::size_t end, V sum) {
  for (; k < end; ++k) {
    std::size_t const at = s.start(k) + r;
    sum = mul_add(val[at], x[col[at]], sum);
  }
  return sum;
}

/// The sums of rows r to r + n of a section.
template <class Section, class V, class I>
HWY_NOINLINE void sum_strip(Section const& s, I const* col, V const* val, V const* x, std::size_t r,
                            std::size_t n, V* sum, std::int64_t ahead) {
  constexpr std::size_t group = 2 * HWY_MAX_BYTES / sizeof(V);
  for (std::size_t q = 0; q < n; ++q)
    sum[q] = 0;
  auto const rows_at = [&](std::size_t k) { // of the strip, that have a slot k
    std::size_t const count = s.count(k);
    return count < r ? 0 : count - r < n ? count - r : n;
  };
  std::size_t k = 0;
  while (k < s.width) {
    std::size_t const here = rows_at(k);
    std::size_t const whole = here / group * group;
    if (whole == 0)
      break;
    int columns = 0; // that have those rows
    std::int64_t from[columns_at_once];
    do
      from[columns++] = static_cast<std::int64_t>(s.start(k) + r);
    while (++k < s.width && columns < columns_at_once && rows_at(k) >= whole);
    add_columns(columns, val, col, from, x, static_cast<std::int64_t>(whole), sum, ahead);
    for (int j = 0; j < columns; ++j) {
      std::size_t const stop = rows_at(k - static_cast<std::size_t>(columns - j));
      for (std::size_t q = whole; q < stop; ++q) {
        auto const at = static_cast<std::size_t>(from[j]) + q;
        sum[q] = mul_add(val[at], x[col[at]], sum[q]);
      }
    }
  }
  constexpr bool padded = requires {
    s.len;
  };
  for (std::size_t q = 0, few = k < s.width ? rows_at(k) : 0; q < few; ++q)
    sum[q] = add_slots(s, col, val, x, r + q, k, padded ? s.width : s.length(r + q), sum[q]);
  if constexpr (padded)
    repair(sum, static_cast<std::int64_t>(n), [&](std::int64_t q) {
      std::size_t const row = r + static_cast<std::size_t>(q);
      return add_slots(s, col, val, x, row, 0, s.length(row), V{});
    });
}

/// Writes sums to the rows that perm names. Sorting leaves rows of one length in order, so most
/// blocks of a mesh are consecutive rows.
template <class V, class I>
HWY_INLINE void store_sums(V alpha, V const* sum, I const* perm, std::size_t n, V beta, V* y) {
  bool const overwrite = beta == V{};
  for (std::size_t q = 0; q < n; q += store_block) {
    std::size_t const here = n - q < store_block ? n - q : store_block;
    I other = 0; // no branch per row
    for (std::size_t i = 0; i < here; ++i)
      other |= static_cast<I>((perm[q + i] - perm[q]) ^ static_cast<I>(i));
    if (other == 0)
      for (std::size_t i = 0; i < here; ++i)
        update(y + perm[q] + i, alpha, sum[q + i], beta, overwrite);
    else
      for (std::size_t i = 0; i < here; ++i)
        update(y + perm[q + i], alpha, sum[q + i], beta, overwrite);
  }
}

template <class View>
std::int64_t place_shares(View const& a, int threads) {
  std::int64_t const places =
      static_cast<std::int64_t>(a.rows) - static_cast<std::int64_t>(a.longs);
  return places < threads * chunks_per_thread ? places : threads * chunks_per_thread;
}

template <class V, class View>
void multiply_sections(V alpha, View const& a, V const* x, V beta, V* y, plan_view const& p) {
  std::int64_t const shares = place_shares(a, p.threads);
  chunk_queue queue(static_cast<share*>(p.work), p.threads, shares);
  parallel(p.threads, [&](int t) {
    V sum[strip_rows];
    for (std::int64_t part; (part = queue.take(t)) >= 0;) {
      auto place = static_cast<std::size_t>(first_place(a, part, shares));
      auto const last = static_cast<std::size_t>(first_place(a, part + 1, shares));
      for (std::size_t c = place < last ? find_section(a, place) : 0; place < last; ++c) {
        auto const s = a.section(c);
        std::size_t const end = s.first + s.rows < last ? s.first + s.rows : last;
        while (place < end) {
          std::size_t const n = end - place < strip_rows ? end - place : strip_rows;
          sum_strip(s, a.col, a.val, x, place - s.first, n, sum, p.streaming ? rows_ahead : 0);
          store_sums(alpha, sum, a.perm + place, n, beta, y);
          place += n;
        }
      }
    }
  });
}

template <class V, class View>
pieces<V> coo_tiles(View const& a, int threads) {
  return {(static_cast<std::int64_t>(a.rest) + tile_steps - 1) / tile_steps, threads};
}

/// The long rows, which are kept in coo.
template <class V, class View>
void multiply_coo(V alpha, View const& a, V const* x, V beta, V* y, plan_view const& p) {
  bool const overwrite = beta == V{};
  std::int64_t const rest = a.rest;
  coo_tiles<V>(a, p.threads)
      .run(alpha, y, p.work, [=](std::int64_t first, std::int64_t last, piece<V>* left) {
        for (std::int64_t tile = first; tile < last; ++tile) {
          left[tile].row = -1;
          std::int64_t k = tile * tile_steps;
          std::int64_t const end = k + tile_steps < rest ? k + tile_steps : rest;
          while (k < end) {
            auto const i = a.coo_row[k];
            std::int64_t const begin = k;
            while (++k < end && a.coo_row[k] == i) {
            }
            V const sum = dot(a.coo_val, a.coo_col, x, begin, k, 0);
            if (begin == tile * tile_steps && begin > 0 && a.coo_row[begin - 1] == i)
              left[tile] = {static_cast<std::int64_t>(i), sum};
            else
              update(y + i, alpha, sum, beta, overwrite);
          }
        }
      });
}

/// The transpose: rows, then the entries of the coo in large units.
template <class View>
std::int64_t sorted_units(View const& a) {
  return static_cast<std::int64_t>(a.rows) - static_cast<std::int64_t>(a.longs) +
         (static_cast<std::int64_t>(a.rest) + coo_unit - 1) / coo_unit;
}

/// Calls f(row, column, value) for each entry of units [begin, end).
template <class View, class F>
HWY_INLINE void walk_sorted(View const& a, std::int64_t begin, std::int64_t end, F f) {
  std::int64_t const rows = static_cast<std::int64_t>(a.rows) - static_cast<std::int64_t>(a.longs);
  auto place = static_cast<std::size_t>(begin + a.longs);
  auto const last = static_cast<std::size_t>((end < rows ? end : rows) + a.longs);
  for (std::size_t c = place < last ? find_section(a, place) : 0; place < last; ++c) {
    auto const s = a.section(c);
    for (; place < last && place < s.first + s.rows; ++place) {
      std::size_t const r = place - s.first;
      for (std::size_t k = 0, n = s.length(r); k < n; ++k) {
        std::size_t const at = s.start(k) + r;
        f(a.perm[place], a.col[at], a.val[at]);
      }
    }
  }
  std::int64_t k = (begin < rows ? 0 : begin - rows) * coo_unit;
  std::int64_t const rest = a.rest;
  std::int64_t const stop = end <= rows                      ? 0
                            : (end - rows) * coo_unit < rest ? (end - rows) * coo_unit
                                                             : rest;
  for (; k < stop; ++k)
    f(a.coo_row[k], a.coo_col[k], a.coo_val[k]);
}

template <class View>
std::size_t prepare_sorted(View const& a, plan_view& p) {
  using V = typename View::value;
  using I = typename View::index;
  if (p.transposed)
    return prepare_scatter_of<V>(sorted_units(a), a.nnz, p,
                                 [&](std::int64_t begin, std::int64_t end, extent& e) {
                                   walk_sorted(a, begin, end, [&](I, I j, V) { e.add(j); });
                                 });
  p.method = a.rest == 0 ? "strips" : "strips and coo";
  std::size_t const shares = static_cast<std::size_t>(p.threads) * sizeof(share);
  std::size_t const tiles = a.rest == 0 ? 0 : coo_tiles<V>(a, p.threads).bytes();
  return shares < tiles ? tiles : shares; // used one after the other
}

template <class View, class V>
void multiply_sorted(V alpha, View const& a, V const* x, V beta, V* y, plan_view const& p) {
  using I = typename View::index;
  if (p.transposed)
    return multiply_scatter(alpha, static_cast<std::int64_t>(a.cols), sorted_units(a), beta, y, p,
                            [&](std::int64_t begin, std::int64_t end, V* out) {
                              walk_sorted(a, begin, end, [&](I i, I j, V value) {
                                out[j] = mul_add(value, x[i], out[j]);
                              });
                            });
  if (a.rows > a.longs)
    multiply_sections(alpha, a, x, beta, y, p);
  if (a.rest != 0)
    multiply_coo(alpha, a, x, beta, y, p);
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
