// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y, A in SELL-C-sigma, symmetric. Included by sell.cpp.
//
// By blocks of windows, as symmetric.hpp says: a window's chunks have only its own rows, in any
// order, so y of a block is scaled before anything is added. Where offsets are shared, lanes are
// rows in both directions: their y further up are contiguous, as their x are. Holes are multiplied,
// except where x of a chunk is not finite. Where offsets are not shared, columns of a step may be
// equal, so rows are computed one by one, without padding.
//
// Half the bytes, but more time: two threads on Zen 4, best ms with all entries stored and with
// half, poisson3d27 100 5.7, 7.1; lattice 500000 4.0, 9.2; fem 60000 1.0, 1.7. In chunks of 16
// poisson3d27 took 5.4; all entries in such chunks were not measured.
#pragma once
#include "cpu/spmv/symmetric.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
struct symmetric_sell {
  sell_view<V, I, O> a;
  V alpha, beta;
  V const* x;
  V* y;

  /// Rows of a unit, which are consecutive: a window, or a chunk where rows are not sorted.
  std::int64_t height() const { return a.perm ? a.sigma : a.chunk; }
  std::int64_t units() const { return (a.rows + height() - 1) / height(); }
  /// The first chunk of a unit.
  std::int64_t first_chunk(std::int64_t unit) const {
    auto const n = static_cast<std::int64_t>(a.chunks());
    std::int64_t const c = unit * (height() / a.chunk);
    return c < n ? c : n;
  }
};

/// The lowest row that chunk c adds to, holes included.
template <class V, class I, class O>
std::int64_t lowest_row(sell_view<V, I, O> const& a, std::int64_t c) {
  auto const at = static_cast<std::size_t>(c);
  std::int64_t lowest = a.rows;
  if (a.step_ptr[c] == a.step_ptr[c + 1])
    return lowest;
  if ((a.kind[c] & sell_kind::mask) >= sell_kind::shared)
    return static_cast<std::int64_t>(a.row_at(at * static_cast<std::size_t>(a.chunk))) +
           a.col[a.col_ptr[c]];
  for (int lane = 0; lane < a.rows_of(at); ++lane) {
    if (a.len[c * a.chunk + lane] == 0)
      continue;
    std::int64_t const p = a.col_ptr[c] + lane;
    std::int64_t const j = (a.kind[c] & sell_kind::mask) == sell_kind::full
                               ? static_cast<std::int64_t>(a.col[p])
                               : static_cast<std::int64_t>(a.base[c]) + a.short_col[p];
    lowest = j < lowest ? j : lowest;
  }
  return lowest;
}

/// n entries of a row, `stride` apart; the last one is on the diagonal if `on`. Returns their sum
/// times x, and adds ax times each of the others to y of its column, or to the window below
/// first_row. Columns of a row differ, so four are loaded before one is stored.
template <class V, class Index>
HWY_INLINE V strided_both_ways(V const* val, Index const* col, std::int64_t stride, std::int64_t n,
                               bool on, std::int64_t base, V const* x, V ax, V* y,
                               std::int64_t first_row, V* window) {
  V s0{}, s1{}, s2{}, s3{};
  auto const out = [=](std::int64_t j) HWY_ATTR { return (j < first_row ? window : y) + j; };
  for (n -= on; n >= 4; n -= 4, val += 4 * stride, col += 4 * stride) {
    std::int64_t const j0 = base + col[0], j1 = base + col[stride], j2 = base + col[2 * stride],
                       j3 = base + col[3 * stride];
    V const v0 = val[0], v1 = val[stride], v2 = val[2 * stride], v3 = val[3 * stride];
    V *const o0 = out(j0), *const o1 = out(j1), *const o2 = out(j2), *const o3 = out(j3);
    s0 = mul_add(v0, x[j0], s0);
    s1 = mul_add(v1, x[j1], s1);
    s2 = mul_add(v2, x[j2], s2);
    s3 = mul_add(v3, x[j3], s3);
    V const y0 = mul_add(v0, ax, *o0);
    V const y1 = mul_add(v1, ax, *o1);
    V const y2 = mul_add(v2, ax, *o2);
    V const y3 = mul_add(v3, ax, *o3);
    *o0 = y0;
    *o1 = y1;
    *o2 = y2;
    *o3 = y3;
  }
  for (; n > 0; --n, val += stride, col += stride) {
    std::int64_t const j = base + *col;
    s0 = mul_add(*val, x[j], s0);
    *out(j) = mul_add(*val, ax, *out(j));
  }
  if (on)
    s1 = mul_add(*val, x[base + *col], s1);
  return (s0 + s1) + (s2 + s3);
}

/// The rows of a chunk one by one.
template <class V, class I, class O>
HWY_NOINLINE void symmetric_lanes(symmetric_sell<V, I, O> const& q, std::int64_t c,
                                  std::int64_t first_row, V* window) {
  auto const& a = q.a;
  auto const at = static_cast<std::size_t>(c);
  V const* const x = q.x;
  V* const y = q.y;
  std::int64_t const chunk = a.chunk;
  std::int64_t const from = a.col_ptr[c];
  std::int64_t const base = a.base[c];
  int const tag = a.kind[c] & sell_kind::mask;
  int const here = a.rows_of(at);
  for (int lane = 0; lane < here; ++lane) {
    std::int64_t const place = c * chunk + lane;
    std::int64_t const row = a.row_at(static_cast<std::size_t>(place));
    std::int64_t const n = a.len[place];
    if (n == 0)
      continue;
    V const ax = q.alpha * x[row];
    V const* const val = a.val + a.step_ptr[c] * chunk + lane;
    V sum{};
    if (tag == sell_kind::full) {
      I const* const col = a.col + from + lane;
      sum = strided_both_ways(val, col, chunk, n, col[(n - 1) * chunk] == row, 0, x, ax, y,
                              first_row, window);
    } else if (tag == sell_kind::shorts) {
      std::uint16_t const* const col = a.short_col + from + lane;
      sum = strided_both_ways(val, col, chunk, n, base + col[(n - 1) * chunk] == row, base, x, ax,
                              y, first_row, window);
    } else {
      a.entries_of(at, lane, [&](std::size_t p, I j) {
        sum = mul_add(a.val[p], x[j], sum);
        if (j != row) {
          V* const out = (j < first_row ? window : y) + j;
          *out = mul_add(a.val[p], ax, *out);
        }
      });
    }
    y[row] = mul_add(q.alpha, sum, y[row]);
  }
}

/// The next entry of each row in both directions: s += val * x, out += val * ax.
template <int N, class V>
HWY_INLINE void add_both(sums<N, V>& s, V const* val, V const* x, V const* ax, V* out) {
  using all = sums<N, V>;
  if constexpr (all::scalar) {
    for (int i = 0; i < N; ++i) {
      s.t[i] = mul_add(val[i], x[i], s.t[i]);
      out[i] = mul_add(val[i], ax[i], out[i]);
    }
  } else {
    typename all::tag const d;
    for (int u = 0; u < all::vectors; ++u) {
      int const i = u * all::lanes;
      auto const v = hn::LoadU(d, val + i);
      s.s[u] = hn::MulAdd(v, hn::LoadU(d, x + i), s.s[u]);
      hn::StoreU(hn::MulAdd(v, hn::LoadU(d, ax + i), hn::LoadU(d, out + i)), d, out + i);
    }
  }
}

/// Chunks [c, end) of rows from first_row on, N rows of a chunk at once.
template <int N, class V, class I, class O>
HWY_NOINLINE void symmetric_chunks(symmetric_sell<V, I, O> const& q, std::int64_t c,
                                   std::int64_t end, std::int64_t first_row, V* window) {
  // A copy: the compiler cannot rule out that a store to y changes q
  sell_view<V, I, O> const a = q.a;
  V const* const x = q.x;
  V* const y = q.y;
  V const alpha = q.alpha;
  std::int64_t const chunk = a.chunk;
  for (; c < end; ++c) {
    std::int64_t const width = a.step_ptr[c + 1] - a.step_ptr[c];
    if (width == 0)
      continue;
    auto const at = static_cast<std::size_t>(c);
    std::int64_t const row = a.row_at(static_cast<std::size_t>(c * chunk));
    bool is_shared = (a.kind[c] & sell_kind::mask) >= sell_kind::shared && a.rows_of(at) == chunk;
    V none{}; // NaN where a hole would show
    for (std::int64_t i = 0; is_shared && i < chunk; ++i)
      none = mul_add(alpha * x[row + i], V{}, none);
    if (!is_shared || none != V{}) {
      symmetric_lanes(q, c, first_row, window);
      continue;
    }
    I const* const offset = a.col + a.col_ptr[c];
    for (std::int64_t g = row; g < row + chunk; g += N) { // the first of N rows
      V const* v = a.val + a.step_ptr[c] * chunk + (g - row);
      sums<N, V> s;
      V ax[N];
      for (int i = 0; i < N; ++i)
        ax[i] = alpha * x[g + i];
      for (std::int64_t k = 0; k < width; ++k, v += chunk) {
        std::int64_t const j = g + offset[k];
        if (j == g) { // the diagonal
          s.add(v, x + j);
        } else if (j >= first_row || j + N <= first_row) {
          add_both(s, v, x + j, ax, (j >= first_row ? y : window) + j);
        } else {
          s.add(v, x + j);
          for (int i = 0; i < N; ++i) {
            V* const out = (j + i < first_row ? window : y) + j + i;
            *out = mul_add(v[i], ax[i], *out);
          }
        }
      }
      if (s.has_nan()) {
        V sum[N];
        s.store(sum);
        repair(sum, N, a, at, static_cast<int>(g - row), x);
        s.load(sum);
      }
      s.update_all(y + g, alpha, V(1), false);
    }
  }
}

template <class V, class I, class O>
std::size_t prepare_symmetric_sell(sell_view<V, I, O> const& a, plan_view& p) {
  p.method = "symmetric chunks";
  symmetric_sell<V, I, O> const q = {a, V{}, V{}, nullptr, nullptr};
  std::int64_t const units = q.units();
  std::int64_t const steps = a.chunks() == 0 ? 0 : a.step_ptr[a.chunks()];
  return prepare_symmetric<V>(
      q.height(), a.stored, p,
      [&](std::int64_t b, std::int64_t blocks) { // so that steps and units are dealt evenly
        std::int64_t const wanted = (steps + units) / blocks * b;
        std::int64_t lo = 0;
        for (std::int64_t hi = units; lo < hi;) {
          std::int64_t const mid = (lo + hi) / 2;
          if (static_cast<std::int64_t>(a.step_ptr[q.first_chunk(mid)]) + mid < wanted)
            lo = mid + 1;
          else
            hi = mid;
        }
        return b == blocks ? units : lo;
      },
      [&](std::int64_t begin, std::int64_t end) {
        std::int64_t lowest = a.rows;
        for (std::int64_t c = q.first_chunk(begin); c < q.first_chunk(end); ++c) {
          std::int64_t const low = lowest_row(a, c);
          lowest = low < lowest ? low : lowest;
        }
        return lowest;
      });
}

template <class V, class I, class O>
void multiply_symmetric_sell(V alpha, sell_view<V, I, O> const& a, V const* x, V beta, V* y,
                             plan_view const& p) {
  symmetric_sell<V, I, O> const q = {a, alpha, beta, x, y};
  using function =
      void (*)(symmetric_sell<V, I, O> const&, std::int64_t, std::int64_t, std::int64_t, V*);
  function const run = a.chunk == 1   ? symmetric_chunks<1, V, I, O>
                       : a.chunk == 2 ? symmetric_chunks<2, V, I, O>
                       : a.chunk == 4 ? symmetric_chunks<4, V, I, O>
                       : a.chunk == 8 ? symmetric_chunks<8, V, I, O>
                                      : symmetric_chunks<16, V, I, O>;
  multiply_symmetric(q.height(), a.rows, y, p,
                     [&](std::int64_t u, std::int64_t end, std::int64_t first_row, V* window, int) {
                       std::int64_t const last = end * q.height();
                       for (std::int64_t i = first_row; i < last && i < q.a.rows; ++i)
                         q.y[i] = q.beta == V{} ? V{} : q.beta * q.y[i];
                       run(q, q.first_chunk(u), q.first_chunk(end), first_row, window);
                     });
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
