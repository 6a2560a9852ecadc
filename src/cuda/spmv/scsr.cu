// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in scsr: a row gathers both its entries and their mirror images, so
// nothing is added to another row's y and the order of additions is fixed. A group of 1 to 32 lanes
// has a row. The plan has the transpose of the triangle: the row of each entry and the place of its
// value.
//
// Bytes that must move, double with 32-bit indices: 12 per entry of the triangle, 8 for its mirror
// image, whose value comes from the caches where the matrix is narrow: 20 of the 24 of csr.
//
// Unlike Lee, Vuduc, Demmel & Yelick, ICPP 2004, where an entry updates two rows: that needs
// floating-point atomics here, whose order differs from run to run. The transpose is the same.
#include "tulle/format/scsr.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"
#include "cuda/spmv/mirror.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = scsr_view<V, I, O, space::cuda>;

constexpr int threads = 256;

template <int width, class V, class I, class O>
__global__ void __launch_bounds__(threads)
    rows_kernel(V alpha, view<V, I, O> a, mirror<I, O> m, V const* x, V beta, V* y) {
  wait_for_launch_before();
  std::size_t const at = blockIdx.x * std::size_t{threads} + threadIdx.x;
  auto const i = static_cast<I>(at / width);
  int const lane = threadIdx.x % width;
  bool const is_row = at / width < static_cast<std::size_t>(a.rows);
  V sum = 0;
  if (is_row) {
    O const end = a.row_ptr[i + 1];
    O const mirror_end = m.ptr[i + 1];
#pragma unroll 4
    for (O k = a.row_ptr[i] + lane; k < end; k += width)
      sum = fma(a.val[k], x[a.col[k]], sum);
#pragma unroll 4
    for (O k = m.ptr[i] + lane; k < mirror_end; k += width)
      sum = fma(a.val[m.place[k]], x[m.other[k]], sum);
  }
  sum = reduce<width>(sum);
  if (is_row && lane == 0)
    update(y + i, alpha, sum, beta);
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  p.method = "symmetric rows";
  p.info[0] = width_for(a.rows == 0 ? 0 : static_cast<std::int64_t>(a.stored) / a.rows);
  carver work;
  mirror(work, a.rows, a.stored);
  return work.used();
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view const& p) {
  carver work(p.work);
  mirror(work, a.rows, a.stored).fill(a.rows, a.stored, a.row_ptr, a.col, p.stream);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  carver work(p.work);
  mirror const m(work, a.rows, a.stored);
  with_width(p.info[0], [&]<int width>(std::integral_constant<int, width>) {
    launch_early(rows_kernel<width, V, I, O>,
                 ceil_div(static_cast<std::size_t>(a.rows) * width, std::size_t{threads}), threads,
                 stream, alpha, a, m, x, beta, y);
  });
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(scsr)

} // namespace tulle::kernels::cuda
