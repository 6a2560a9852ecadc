// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y where the first entries of the rows are stored as ell: ell, and hyb, which
// has the rest in coo.
//
// A lane is a row: its entries are added in order, and its padding, which is 0 times some x of the
// row. Where that x is Inf or NaN the sum is NaN, and the row is computed again from its own
// entries, as are the rows at the end that fill no vector: the same additions in the same order.
//
// Rows are computed in strips. The ell's part of a strip is summed a few columns at a time, then
// the coo's part is added by runs of equal rows while the sums are in L1, and y is written once. A
// run is cut where tiles of the coo end, tiles that one row fills are summed beforehand by all
// threads, and the pieces are added in order: so the bits depend on the matrix alone, and a row of
// any length is shared by all threads.
#pragma once
#include "tulle/format/ell.hpp"

#include "cpu/spmv/columns.hpp"
#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/scatter.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr std::int64_t least_strip = 64; // where there are few rows for many threads

/// The entries of a hyb that are not in its ell, in row order. An ell has none.
template <class V, class I>
struct coo_rest {
  I const* row = nullptr;
  I const* col = nullptr;
  V const* val = nullptr;
  std::int64_t size = 0;

  /// The first entry of row i or of a later one.
  std::int64_t begin_of(std::int64_t i) const {
    std::int64_t lo = 0;
    std::int64_t hi = size;
    while (lo < hi) {
      std::int64_t const mid = (lo + hi) / 2;
      if (static_cast<std::int64_t>(row[mid]) < i)
        lo = mid + 1;
      else
        hi = mid;
    }
    return lo;
  }
  std::int64_t tiles() const { return size / tile_steps; } // whole ones
  bool is_one_row(std::int64_t tile) const {
    return row[tile * tile_steps] == row[(tile + 1) * tile_steps - 1];
  }
};

/// Row i of the ell by its own entries.
template <class V, class I, class O>
HWY_NOINLINE V exact_row(ell_view<V, I, O> const& a, V const* x, std::int64_t i) {
  auto const stride = static_cast<std::int64_t>(a.stride);
  V sum = 0;
  for (std::int64_t s = 0; s < static_cast<std::int64_t>(a.row_len[i]); ++s)
    sum = mul_add(a.val[s * stride + i], x[a.col[s * stride + i]], sum);
  return sum;
}

/// The ell's sums of n rows from row i on, n a multiple of two vectors.
template <class V, class I, class O>
HWY_INLINE void sum_columns(ell_view<V, I, O> const& a, V const* x, std::int64_t i, std::int64_t n,
                            V* sum, std::int64_t ahead) {
  auto const stride = static_cast<std::int64_t>(a.stride);
  std::int64_t const width = a.width;
  for (std::int64_t r = 0; r < n; ++r)
    sum[r] = 0;
  for (std::int64_t s = 0; s < width; s += columns_at_once) {
    std::int64_t at[columns_at_once];
    for (std::int64_t j = 0; j < columns_at_once; ++j)
      at[j] = (s + j) * stride + i;
    add_columns(width - s < columns_at_once ? static_cast<int>(width - s) : columns_at_once, a.val,
                a.col, at, x, n, sum, ahead);
  }
  repair(sum, n, [&](std::int64_t r) { return exact_row(a, x, i + r); });
}

/// The coo's entries of rows [first, last), added to their sums. piece[t] is the sum of tile t
/// where one row fills it.
template <class V, class I>
HWY_INLINE void add_rest(coo_rest<V, I> const& rest, V const* piece, V const* x, std::int64_t first,
                         std::int64_t last, std::int64_t& k, V* sum, std::int64_t ahead) {
  while (k < rest.size && static_cast<std::int64_t>(rest.row[k]) < last) {
    I const i = rest.row[k];
    V total = 0;
    do {
      std::int64_t const tile = k / tile_steps;
      std::int64_t const tile_end = (tile + 1) * tile_steps;
      if (k == tile * tile_steps && tile_end <= rest.size && rest.row[tile_end - 1] == i) {
        total = total + piece[tile];
        k = tile_end;
        continue;
      }
      std::int64_t const stop = tile_end < rest.size ? tile_end : rest.size;
      std::int64_t e = k + 1;
      while (e < stop && rest.row[e] == i)
        ++e;
      total = total + dot(rest.val, rest.col, x, k, e, ahead);
      k = e;
    } while (k < rest.size && rest.row[k] == i);
    V& to = sum[static_cast<std::int64_t>(i) - first];
    to = to + total;
  }
}

/// How strips are dealt, and the layout of the workspace: one piece per tile, one share per thread.
template <class V, class I>
struct strips_layout {
  std::int64_t rows;
  std::int64_t row_steps; // of work per row; an entry of the coo is one step
  std::int64_t strip;     // rows
  std::int64_t chunks;
  std::size_t shares_at;
  std::size_t bytes;

  strips_layout(std::int64_t rows, std::int64_t width, std::int64_t rest, int threads)
      : rows(rows), row_steps(rows > 0 ? width + 1 : 1), strip(strip_rows) {
    while (strip > least_strip && rows / strip < threads * chunks_per_thread)
      strip /= 2;
    std::int64_t const strips = (rows + strip - 1) / strip;
    chunks = strips < threads * chunks_per_thread ? strips : threads * chunks_per_thread;
    auto const after = [](std::size_t n) { return (n + 63) / 64 * 64; };
    shares_at = after(static_cast<std::size_t>(rest / tile_steps) * sizeof(V));
    bytes = shares_at + static_cast<std::size_t>(threads) * sizeof(share);
  }

  /// The first row of a chunk when rows and entries of the coo are dealt evenly.
  std::int64_t first_row(std::int64_t chunk, coo_rest<V, I> const& rest) const {
    if (chunk == chunks)
      return rows;
    std::int64_t const at =
        static_cast<std::int64_t>(static_cast<double>(rows * row_steps + rest.size) *
                                  static_cast<double>(chunk) / static_cast<double>(chunks));
    std::int64_t lo = 0; // the first entry k of the coo such that its row begins after `at`
    std::int64_t hi = rest.size;
    while (lo < hi) {
      std::int64_t const mid = (lo + hi) / 2;
      if (static_cast<std::int64_t>(rest.row[mid]) * row_steps + mid < at)
        lo = mid + 1;
      else
        hi = mid;
    }
    std::int64_t const i = (at - lo) / row_steps / strip * strip;
    return i < rows ? i : rows;
  }
};

template <class V, class I, class O>
std::size_t strips_workspace(ell_view<V, I, O> const& a, std::int64_t rest, int threads) {
  return strips_layout<V, I>(a.rows, a.width, rest, threads).bytes;
}

template <class V, class I, class O>
void multiply_strips(V alpha, ell_view<V, I, O> const& a, coo_rest<V, I> const& rest, V const* x,
                     V beta, V* y, plan_view const& p) {
  if (a.rows == 0)
    return;
  strips_layout<V, I> const layout(a.rows, a.width, rest.size, p.threads);
  std::int64_t const rows = a.rows;
  bool const overwrite = beta == V{};
  char* const work = static_cast<char*>(p.work);
  V* const piece = reinterpret_cast<V*>(work);
  chunk_queue queue(reinterpret_cast<share*>(work + layout.shares_at), p.threads, layout.chunks);
  std::int64_t const tiles = rest.tiles();

  if (tiles > 0)
    parallel_each(tiles, 1, p.threads, [&](std::int64_t tile, int) {
      if (rest.is_one_row(tile))
        piece[tile] =
            dot(rest.val, rest.col, x, tile * tile_steps, (tile + 1) * tile_steps, ahead_of(p));
    });
  parallel(p.threads, [&](int t) {
    hn::ScalableTag<V> const d;
    constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
    constexpr int group = 2 * lanes;
    static_assert(least_strip % group == 0 && strip_rows % least_strip == 0);
    auto const va = hn::Set(d, alpha);
    auto const vb = hn::Set(d, beta);
    V sum[strip_rows];
    for (std::int64_t chunk; (chunk = queue.take(t)) >= 0;) {
      std::int64_t i = layout.first_row(chunk, rest);
      std::int64_t const end = layout.first_row(chunk + 1, rest);
      std::int64_t k = rest.size == 0 ? 0 : rest.begin_of(i);
      for (; i < end; i += layout.strip) {
        std::int64_t const n = i + layout.strip < rows ? layout.strip : rows - i;
        std::int64_t r = n / group * group;
        sum_columns(a, x, i, r, sum, p.streaming ? rows_ahead : 0);
        for (; r < n; ++r)
          sum[r] = exact_row(a, x, i + r);
        if (k < rest.size)
          add_rest(rest, piece, x, i, i + n, k, sum, ahead_of(p));
        for (r = 0; r + lanes <= n; r += lanes) {
          auto const s = hn::LoadU(d, sum + r);
          hn::StoreU(overwrite ? hn::Mul(va, s)
                               : hn::MulAdd(va, s, hn::Mul(vb, hn::LoadU(d, y + i + r))),
                     d, y + i + r);
        }
        for (; r < n; ++r)
          update(y + i + r, alpha, sum[r], beta, overwrite);
      }
    }
  });
}

/// Calls f(i, place) for slots [begin, end) that hold an entry, counted row by row, then rest(k)
/// for numbers past the last slot, which are entries k of the coo.
template <class V, class I, class O, class F, class G>
HWY_INLINE void each_slot(ell_view<V, I, O> const& a, std::int64_t begin, std::int64_t end, F f,
                          G rest) {
  std::int64_t const width = a.width;
  auto const stride = static_cast<std::int64_t>(a.stride);
  std::int64_t const slots = width * static_cast<std::int64_t>(a.rows);
  while (begin < end && begin < slots) {
    std::int64_t const i = begin / width;
    std::int64_t const row_begin = i * width;
    std::int64_t const stop = end - row_begin < static_cast<std::int64_t>(a.row_len[i])
                                  ? end - row_begin
                                  : static_cast<std::int64_t>(a.row_len[i]);
    for (std::int64_t s = begin - row_begin; s < stop; ++s)
      f(i, s * stride + i);
    begin = row_begin + width;
  }
  for (std::int64_t k = begin; k < end; ++k)
    rest(k - slots);
}

/// The transposed product scatters slots of the ell, then the entries of the coo.
template <class V, class I, class O>
std::size_t prepare_slots(ell_view<V, I, O> const& a, coo_rest<V, I> const& rest, plan_view& p) {
  std::int64_t const units =
      static_cast<std::int64_t>(a.width) * static_cast<std::int64_t>(a.rows) + rest.size;
  return prepare_scatter_of<V>(
      units, units, p, [=](std::int64_t begin, std::int64_t end, extent& e) {
        each_slot(
            a, begin, end, [&](std::int64_t, std::int64_t at) { e.add(a.col[at]); },
            [&](std::int64_t k) { e.add(rest.col[k]); });
      });
}

template <class V, class I, class O>
void scatter_slots(V alpha, ell_view<V, I, O> const& a, coo_rest<V, I> const& rest, V const* x,
                   V beta, V* y, plan_view const& p) {
  std::int64_t const units =
      static_cast<std::int64_t>(a.width) * static_cast<std::int64_t>(a.rows) + rest.size;
  multiply_scatter(
      alpha, a.cols, units, beta, y, p, [=](std::int64_t begin, std::int64_t end, V* out) {
        each_slot(
            a, begin, end,
            [=](std::int64_t i, std::int64_t at) {
              out[a.col[at]] = mul_add(a.val[at], x[i], out[a.col[at]]);
            },
            [=](std::int64_t k) {
              out[rest.col[k]] = mul_add(rest.val[k], x[rest.row[k]], out[rest.col[k]]);
            });
      });
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
