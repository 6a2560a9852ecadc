// SPDX-License-Identifier: Apache-2.0

// What sell, ell and hyb share: a lane is a row, whose entries are a stride apart, so that a warp
// reads the next entries of its rows side by side.
//
// Padding is multiplied: a row whose sum is NaN is computed again from its entries alone, since 0
// times Inf or NaN always gives NaN. Matrices of few and long rows use several warps per 32 rows:
// they take batches in turn, and their sums are added in order.
#pragma once
#include "tulle/format/ell.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"
#include "cuda/spmv/element.cuh"

namespace tulle::kernels::cuda {

/// Loads what is read once per product and should not evict x from the caches.
template <class T>
__device__ T once(T const* p) {
  return __ldcs(p);
}

/// The sum of val[k * stride] * x[col[k * col_stride]] over the steps k of batches that begin at
/// first, first + hop, ... below `last`. The loads of a batch are in flight together.
template <int batch, bool shared = false, class V, class K, class Stride, class C, class C_stride,
          class X>
__device__ V sum_steps(V const* val, Stride stride, C const* col, C_stride col_stride, K first,
                       K last, K hop, X x) {
  using wide = std::conditional_t<sizeof(C) == 2, unsigned, C>;
  V sum = 0;
  val += static_cast<std::size_t>(first) * stride;
  col += static_cast<std::size_t>(first) * col_stride;
  for (K left = last - first; left > 0; left -= hop) {
    V v[batch], at[batch];
    wide j[batch];
#pragma unroll
    for (int u = 0; u < batch; ++u)
      if (u < left) {
        j[u] = shared ? __ldg(col + u * col_stride) : once(col + u * col_stride);
        v[u] = once(val + u * stride);
      }
#pragma unroll
    for (int u = 0; u < batch; ++u)
      if (u < left)
        at[u] = element(x, j[u]);
#pragma unroll
    for (int u = 0; u < batch; ++u)
      if (u < left)
        sum = fma(v[u], at[u], sum);
    val += static_cast<std::size_t>(hop) * stride;
    col += static_cast<std::size_t>(hop) * col_stride;
  }
  return sum;
}

/// In the first of each `ways` warps of a block, the sum over those warps for each lane.
template <int block, int ways, class V>
__device__ V join_warps(V sum) {
  if constexpr (ways > 1) {
    __shared__ V of[block];
    of[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x / 32 % ways == 0)
#pragma unroll
      for (int w = 1; w < ways; ++w)
        sum += of[threadIdx.x + w * 32];
  }
  return sum;
}

/// How a kernel assigns rows (nvcc takes no struct as a template argument of kernels): `ways` warps
/// per 32 rows, `turns` groups of rows one after the other, loads of `batch` steps in flight
/// together, `threads` per block, and so many threads `resident` on a multiprocessor, which bounds
/// the registers.
template <int ways_, int turns_, int batch_, int block_, int resident_>
struct shape {
  static constexpr int ways = ways_, turns = turns_, batch = batch_, block = block_;
  /// 64-bit columns take more registers: fewer resident threads, or they spill.
  static constexpr int resident(std::size_t index_bytes) {
    return index_bytes <= 4 || resident_ == 1 ? resident_ : resident_ * 2 / 3;
  }
};

/// One lane per row.
template <class S, class V, class I, class O>
__global__ void __launch_bounds__(S::block, S::resident(sizeof(I)))
    ell_kernel(V alpha, ell_view<V, I, O, space::cuda> a, V const* x, V beta, V* y) {
  wait_for_launch_before();
  unsigned const warp = threadIdx.x / 32;
  std::size_t const group = blockIdx.x * std::size_t{S::block / 32 / S::ways} + warp / S::ways;
  std::size_t const i = group * 32 + threadIdx.x % 32;
  if (i >= static_cast<std::size_t>(a.rows))
    return;
  V sum = sum_steps<S::batch>(a.val + i, a.stride, a.col + i, a.stride,
                              static_cast<I>(warp % S::ways * S::batch), a.width,
                              I(S::ways * S::batch), x);
  sum = join_warps<S::block, S::ways>(sum);
  if (warp % S::ways != 0)
    return;
  if (sum != sum) {
    sum = 0;
    for (I k = 0; k < a.row_len[i]; ++k) {
      std::size_t const at = k * a.stride + i;
      sum = fma(a.val[at], x[a.col[at]], sum);
    }
  }
  update(y + i, alpha, sum, beta);
}

/// The number of warps per 32 rows: in matrices of few rows, enough to keep a device busy. It
/// depends on the matrix alone, since it determines the order of additions. Double, shares of the
/// bound of csr with 1, 2, 8, 32 warps: ell of dense 2048 .09, .12, .42, .96; of banded 20000 200
/// .45, .71, 1.06, .86; of 40000 random rows of 200 .57, .72, .71, .48; sell of fem 500000 with 1,
/// 2, 4 1.12, 1.17, 1.13.
inline int ways_for(std::size_t rows, std::size_t steps) {
  std::size_t const groups = rows / 32;
  if (steps < 16 || groups >= 1 << 15)
    return 1;
  if (groups >= 1 << 10)
    return 2;
  return groups >= 1 << 8 || steps < 128 ? 8 : 32;
}

/// y = alpha A x + beta y. Shares of the bound of csr with batches of 2, 4, 5, 6, 8 and as many
/// blocks resident as their registers allow: poisson2d5 4096 1.09, .89, 1.10, .94, .90; poisson3d27
/// 160 1.03, .99, 1.03, 1.00, 1.01; lattice 4000000 1.07, 1.10, 1.05, 1.00, .86.
template <class V, class I, class O>
void multiply_ell(V alpha, ell_view<V, I, O, space::cuda> const& a, V const* x, V beta, V* y,
                  void* stream) {
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const go = [&]<class S>(S) {
    launch_early(ell_kernel<S, V, I, O>, ceil_div(rows, std::size_t{S::block / S::ways}), S::block,
                 stream, alpha, a, x, beta, y);
  };
  switch (ways_for(rows, static_cast<std::size_t>(a.width))) {
  case 1:
    return go(shape<1, 1, 5, 256, 5>());
  case 2:
    return go(shape<2, 1, 5, 128, 10>());
  case 8:
    return go(shape<8, 1, 5, 256, 5>());
  default:
    return go(shape<32, 1, 4, 1024, 1>());
  }
}

} // namespace tulle::kernels::cuda
