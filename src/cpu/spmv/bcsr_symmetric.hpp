// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y, A in BCSR, symmetric. Included by bcsr.cpp.
//
// By blocks of block rows, as symmetric.hpp says. A block is loaded once: times x of its columns it
// adds to the sums of its rows, and its transpose times x of its rows adds to y of its columns.
// Holes are multiplied, except where x of a block row is not finite; a row whose own sum is NaN is
// computed again from the pattern.
//
// Two threads on Zen 4, speedup over all blocks stored, best times of each run: fem 60000, in L3,
// 0.8 to 2.0 over eleven runs and five of them below 1; fem 300000 1.3 to 1.8 over four. One
// thread, fem 60000: 1.5. Prefetching values 4 KiB ahead: the same on fem 300000, other distances
// not tried.
#pragma once
#include "tulle/format/bcsr.hpp"

#include "cpu/spmv/blocks.hpp"
#include "cpu/spmv/symmetric_rows.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
struct symmetric_blocks {
  O const* ptr;
  I const* col;
  V const* val;
  std::uint64_t const* pattern;
  std::int64_t rows, blocks, n; // n: the side of a block
  V alpha, beta;
  bool overwrite;
  V const* x;
  V* y;

  std::uint64_t bits(std::int64_t k, std::int64_t r) const {
    return pattern ? detail::bits_at(pattern, static_cast<std::size_t>((k * n + r) * n),
                                     static_cast<int>(n))
                   : ~std::uint64_t(0) >> (64 - n);
  }
};

/// out[0..n) += the first n lanes of v; nothing else is accessed.
template <int n, class D, class V>
HWY_INLINE void add_first(D d, hn::Vec<D> v, V* out) {
  constexpr int lanes = hn::MaxLanes(D());
  if constexpr (n == lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, out), v), d, out);
  } else {
    hn::Half<D> const half;
    add_first<(n < lanes / 2 ? n : lanes / 2)>(half, hn::LowerHalf(half, v), out);
    if constexpr (n > lanes / 2)
      add_first<n - lanes / 2>(half, hn::UpperHalf(half, v), out + lanes / 2);
  }
}

/// Blocks [k, end) of block row i by the pattern: sum += their rows times x, and where `mirrored`
/// ax times their columns goes to y, or to the window below first_row.
template <class V, class I, class O>
HWY_NOINLINE void exact_blocks(symmetric_blocks<V, I, O> const& q, std::int64_t i, std::int64_t k,
                               std::int64_t end, bool mirrored, V const* ax, std::int64_t first_row,
                               V* window, V* sum) {
  for (; k < end; ++k) {
    std::int64_t const left = q.col[k] * q.n;
    V* const out = (left < first_row ? window : q.y) + left;
    for (std::int64_t r = 0; r < q.n; ++r) {
      std::uint64_t const bits = q.bits(k, r);
      for (std::int64_t j = 0; j < q.n; ++j) {
        if ((bits >> j & 1) == 0)
          continue;
        V const v = q.val[(k * q.n + r) * q.n + j];
        sum[r] = mul_add(v, q.x[left + j], sum[r]);
        if (mirrored && q.col[k] != i)
          out[j] = mul_add(v, ax[r], out[j]);
      }
    }
  }
}

/// Block rows [i, end) of N x N blocks, which are one block of symmetric.hpp.
template <int N, class V, class I, class O>
HWY_NOINLINE void symmetric_block_rows(symmetric_blocks<V, I, O> const& c, std::int64_t i,
                                       std::int64_t end, std::int64_t first_row, V* window) {
  // A copy: the compiler cannot rule out that a store to y changes c
  symmetric_blocks<V, I, O> const q = c;
  using row = row_of<V, N>;
  typename row::full_tag const full_d;
  typename row::rest_tag const rest_d;
  std::int64_t const first = i;
  // The last block column from which whole loads stay within x.
  std::int64_t const last_col = q.rows < row::reach ? -1 : (q.rows - row::reach) / N;
  std::int64_t k = q.ptr[i];
  for (; i < end; ++i) {
    std::int64_t const stop = q.ptr[i + 1];
    int const here = q.rows - i * N < N ? static_cast<int>(q.rows - i * N) : N;
    V ax[N] = {}, sum[N] = {};
    V none{}; // NaN where a hole would show
    for (int r = 0; r < here; ++r) {
      ax[r] = q.alpha * q.x[i * N + r];
      none = none + ax[r] * V{};
    }
    std::int64_t whole = stop - (stop == q.blocks && k < stop);
    while (k < whole && q.col[whole - 1] > last_col)
      --whole;
    if (q.pattern && none != V{})
      whole = k;
    std::int64_t const below = whole - (k < whole && q.col[whole - 1] == i);
    row_sum<V, N> s[N];
    V const* v = q.val + k * (N * N);
    for (; k < below; ++k, v += N * N) {
      std::int64_t const j = q.col[k];
      V* const out = (j < first ? window : q.y) + j * N;
      x_of<V, N> const xs(q.x + j * N);
      hn::Vec<typename row::full_tag> full[row::full ? row::full : 1];
      for (auto& one : full)
        one = hn::Zero(full_d);
      auto rest = hn::Zero(rest_d);
#pragma GCC unroll 8
      for (int r = 0; r < N; ++r) {
#pragma GCC unroll 4
        for (int p = 0; p < row::full; ++p) {
          auto const values = hn::LoadU(full_d, v + r * N + p * row::lanes);
          s[r].full = hn::MulAdd(values, xs.full[p], s[r].full);
          full[p] = hn::MulAdd(values, hn::Set(full_d, ax[r]), full[p]);
        }
        if constexpr (row::rest != 0) {
          auto const values = hn::LoadU(rest_d, v + r * N + row::full * row::lanes);
          s[r].rest = hn::MulAdd(values, xs.rest, s[r].rest);
          rest = hn::MulAdd(values, hn::Set(rest_d, ax[r]), rest);
        }
      }
#pragma GCC unroll 4
      for (int p = 0; p < row::full; ++p)
        add_first<row::lanes>(full_d, full[p], out + p * row::lanes);
      if constexpr (row::rest != 0)
        add_first<row::rest>(rest_d, rest, out + row::full * row::lanes);
    }
    if (k < whole) { // on the diagonal
      x_of<V, N> const xs(q.x + i * N);
      for (int r = 0; r < N; ++r)
        xs.times(v + r * N, s[r]);
      ++k;
    }
    for (int r = 0; r < N; ++r)
      sum[r] = s[r].total();
    if (k < stop)
      exact_blocks(q, i, k, stop, true, ax, first_row, window, sum);
    bool nan = false;
    for (int r = 0; r < N; ++r)
      nan |= sum[r] != sum[r];
    if (nan && q.pattern) {
      V exact[N] = {};
      exact_blocks(q, i, q.ptr[i], stop, false, ax, first_row, window, exact);
      for (int r = 0; r < N; ++r)
        sum[r] = exact[r];
    }
    k = stop;
    for (int r = 0; r < here; ++r)
      update(q.y + i * N + r, q.alpha, sum[r], q.beta, q.overwrite);
  }
}

template <class V, class I, class O>
std::size_t prepare_symmetric_bcsr(bcsr_view<V, I, O> const& a, plan_view& p) {
  p.method = a.height == 1 ? "symmetric rows" : "symmetric blocks";
  return prepare_symmetric_rows<V>((a.rows + std::int64_t(a.height) - 1) / a.height, a.blocks,
                                   a.height, a.block_ptr, a.block_col, p);
}

template <class V, class I, class O>
void multiply_symmetric_bcsr(V alpha, bcsr_view<V, I, O> const& a, V const* x, V beta, V* y,
                             plan_view const& p) {
  if (a.height == 1)
    return multiply_symmetric_rows(alpha, a.rows, a.block_ptr, a.block_col, a.val, x, beta, y, p);
  using function =
      void (*)(symmetric_blocks<V, I, O> const&, std::int64_t, std::int64_t, std::int64_t, V*);
  static constexpr function by_side[] = {
      symmetric_block_rows<2, V, I, O>, symmetric_block_rows<3, V, I, O>,
      symmetric_block_rows<4, V, I, O>, symmetric_block_rows<5, V, I, O>,
      symmetric_block_rows<6, V, I, O>, symmetric_block_rows<7, V, I, O>,
      symmetric_block_rows<8, V, I, O>};
  symmetric_blocks<V, I, O> const q = {a.block_ptr, a.block_col, a.val,    a.pattern,
                                       a.rows,      a.blocks,    a.height, alpha,
                                       beta,        beta == V{}, x,        y};
  multiply_symmetric(std::int64_t(a.height), a.rows, y, p,
                     [&](std::int64_t i, std::int64_t end, std::int64_t first_row, V* window, int) {
                       by_side[a.height - 2](q, i, end, first_row, window);
                     });
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
