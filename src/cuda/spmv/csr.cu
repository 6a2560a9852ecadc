// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in csr: a group of 1 to 32 lanes a row.
#include "tulle/format/csr.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"

namespace tulle::simt {
namespace {

template <class V, class I, class O>
using view = csr_view<V, I, O, space::device>;

constexpr int threads = 256;

template <int width, class V, class I, class O>
__global__ void rows_kernel(V alpha, I rows, O const* row_ptr, I const* col, V const* val,
                            V const* x, V beta, V* y) {
  std::size_t const at = blockIdx.x * std::size_t{threads} + threadIdx.x;
  auto const i = static_cast<I>(at / width);
  int const lane = threadIdx.x % width;
  V sum = 0;
  if (i < rows)
    for (O k = row_ptr[i] + lane; k < row_ptr[i + 1]; k += width)
      sum = fma(val[k], x[col[k]], sum);
  sum = reduce<width>(sum);
  if (i < rows && lane == 0)
    update(y + i, alpha, sum, beta);
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (p.transposed || (p.wanted != spmv_method::automatic && p.wanted != spmv_method::rows))
    refuse("csr", "no kernel yet");
  p.method = "rows";
  std::int64_t const average = a.rows == 0 ? 0 : static_cast<std::int64_t>(a.nnz) / a.rows;
  std::int64_t width = 1;
  while (width < 32 && width * 2 <= average)
    width *= 2;
  p.info[0] = width;
  return 0;
}

template <class V, class I, class O>
void fill(view<V, I, O>, plan_view const&) {}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  auto const go = [&]<int width>(std::integral_constant<int, width>) {
    launch(rows_kernel<width, V, I, O>,
           ceil_div(static_cast<std::size_t>(a.rows) * width, std::size_t{threads}), threads,
           stream, alpha, a.rows, a.row_ptr, a.col, a.val, x, beta, y);
  };
  switch (p.info[0]) {
  case 1:
    return go(std::integral_constant<int, 1>());
  case 2:
    return go(std::integral_constant<int, 2>());
  case 4:
    return go(std::integral_constant<int, 4>());
  case 8:
    return go(std::integral_constant<int, 8>());
  case 16:
    return go(std::integral_constant<int, 16>());
  default:
    return go(std::integral_constant<int, 32>());
  }
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(csr)

} // namespace tulle::simt
