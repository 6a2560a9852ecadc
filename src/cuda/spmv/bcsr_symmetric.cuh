// SPDX-License-Identifier: Apache-2.0

// Symmetric bcsr: a few lanes per row go through its blocks and then through those of its block
// column, transposed. Values of the latter come from the caches where the matrix is narrow.
#pragma once
#include "tulle/format/bcsr.hpp"

#include "cuda/primitive/warp.cuh"
#include "cuda/spmv/mirror.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr int symmetric_lanes = 8; // per row; others have not been measured
constexpr int symmetric_threads = 256;

template <class V, class I, class O>
using any_bcsr = bcsr_view<V, I, O, space::cuda>;

/// The lane's sum over row r of block row i. is_exact: without holes.
template <bool is_exact, class V, class I, class O>
__device__ V sum_both(any_bcsr<V, I, O> const& a, mirror<I, O> const& m, std::int64_t i, int r,
                      V const* x) {
  int const h = a.height;
  int const lane = threadIdx.x % symmetric_lanes;
  V sum = 0;
  auto const add = [&](O block, I column, int first, int step) {
    std::int64_t const left = std::int64_t{column} * h;
    std::int64_t slot = static_cast<std::int64_t>(block) * h * h + first;
    for (int j = 0; j < h && left + j < a.cols; ++j, slot += step)
      if (!is_exact || (a.pattern[slot / 64] >> slot % 64 & 1))
        sum = fma(a.val[slot], __ldg(x + left + j), sum);
  };
  for (O k = a.block_ptr[i] + lane; k < a.block_ptr[i + 1]; k += symmetric_lanes)
    add(k, a.block_col[k], r * h, 1);
  for (O k = m.ptr[i] + lane; k < m.ptr[i + 1]; k += symmetric_lanes)
    add(m.place[k], m.other[k], r, h);
  return sum;
}

template <class V, class I, class O>
__global__ void __launch_bounds__(symmetric_threads)
    symmetric_kernel(V alpha, any_bcsr<V, I, O> a, mirror<I, O> m, V const* x, V beta, V* y) {
  std::int64_t const row =
      (blockIdx.x * std::int64_t{symmetric_threads} + threadIdx.x) / symmetric_lanes;
  bool const is_row = row < a.rows;
  std::int64_t const i = row / a.height;
  int const r = static_cast<int>(row % a.height);
  V sum = reduce<symmetric_lanes>(is_row ? sum_both<false>(a, m, i, r, x) : V(0));
  bool const is_again = a.pattern && sum != sum;
  if (__any_sync(whole_warp, is_again)) {
    V const exact = reduce<symmetric_lanes>(is_again ? sum_both<true>(a, m, i, r, x) : V(0));
    sum = is_again ? exact : sum;
  }
  if (is_row && threadIdx.x % symmetric_lanes == 0)
    update(y + row, alpha, sum, beta);
}

} // namespace
} // namespace tulle::kernels::cuda
