// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in CSR-Adaptive.
//
// Greathouse & Daga, SC 2014: a thread block a row block. Rows that share one are multiplied in
// order into shared memory and then added up, as many lanes a row as there are; a long row is added
// up by all threads. The parts of a row in several blocks are added in order by a second launch.
#include "tulle/format/csr_adaptive.hpp"

#include "cuda/each.cuh"
#include "cuda/primitive/block.cuh"
#include "cuda/spmv/ell_rows.cuh"
#include "cuda/spmv/rows.cuh"

namespace tulle::simt {
namespace {

template <class V, class I, class O>
using view = csr_adaptive_view<V, I, O, space::device>;

// us of a product, double, H200, entries of 512, 1024, 2048, 4096: rmat 21 16 302, 288, 304, 587;
// circuit 2000000 122, 86, 74, 136; fem 500000 241, 151, 110, 159; lattice 4000000 132, 91, 78, 86;
// poisson2d5 4096 685, 447, 363, 434. Loads past the caches instead, 2048: 1.01 of the time on
// circuit, .99 on fem, 1.14 on lattice and poisson2d5.

/// The blocks of the long row that block b begins, where b does that; else 0.
template <class V, class I, class O>
__device__ O parts_from(view<V, I, O> const& a, std::size_t b) {
  I const i = a.row_block[b];
  if (a.row_block[b + 1] != i || (b > 0 && a.row_block[b - 1] == i))
    return 0;
  return detail::blocks_of_row<O>(a.row_ptr[i + 1] - a.row_ptr[i], a.entries);
}

/// Rows [first, last), whose products from entry k0 on are there: as blocks_kernel of rows.cuh.
template <class V, class I, class O>
__device__ void add_rows(V alpha, O const* row_ptr, I first, I last, O k0, V const* product, V beta,
                         V* y) {
  int width = 1;
  while (width < 32 && static_cast<std::size_t>(last - first) * width * 2 <= row_threads)
    width *= 2;
  int const lane = threadIdx.x % width;
  // All threads go round as often as the first, for the shuffles.
  for (std::size_t r = 0; r < static_cast<std::size_t>(last - first); r += row_threads / width) {
    std::size_t const i = static_cast<std::size_t>(first) + r + threadIdx.x / width;
    V sum = 0;
    if (i < static_cast<std::size_t>(last)) {
      int const stop = static_cast<int>(row_ptr[i + 1] - k0);
      for (int k = static_cast<int>(row_ptr[i] - k0) + lane; k < stop; k += width)
        sum += product[k];
    }
    sum = reduce(sum, width);
    if (i < static_cast<std::size_t>(last) && lane == 0)
      update(y + i, alpha, sum, beta);
  }
}

template <class V, class I, class O>
__global__ void __launch_bounds__(row_threads)
    row_blocks_kernel(V alpha, view<V, I, O> a, V const* x, V beta, V* y, V* part) {
  extern __shared__ __align__(16) char shared[];
  __shared__ block_room<V> room;
  wait_for_launch_before();
  std::size_t const b = blockIdx.x;
  I const first = a.row_block[b];
  I const last = a.row_block[b + 1];
  O const k0 = a.row_ptr[first];
  O const k1 = a.row_ptr[first == last ? first + 1 : last];
  if (k1 - k0 <= a.entries) {
    auto* const product = reinterpret_cast<V*>(shared);
    lines<V, I, O> const rows{a.rows, a.nnz, a.row_ptr, a.col, a.val, nullptr};
    multiply<row_threads>(rows, x, k0, static_cast<int>(k1 - k0), product);
    __syncthreads();
    return add_rows(alpha, a.row_ptr, first, last, k0, static_cast<V const*>(product), beta, y);
  }
  O const most = static_cast<O>(a.entries) * detail::long_row_blocks;
  bool const is_part = k1 - k0 > most;
  O const k = is_part ? k0 + static_cast<O>(b - lower_bound(a.row_block, b, first)) * most : k0;
  O const end = k1 - k < most ? k1 : k + most;
  constexpr std::integral_constant<int, row_threads> stride;
  int const mine =
      (static_cast<int>(end - k) - static_cast<int>(threadIdx.x) + stride - 1) / stride;
  V const sum = block_reduce<row_threads>(
      sum_steps<4>(a.val + k + threadIdx.x, stride, a.col + k + threadIdx.x, stride, 0, mine, 4, x),
      room);
  if (threadIdx.x != 0)
    return;
  if (is_part)
    part[b] = sum;
  else
    update(y + first, alpha, sum, beta);
}

/// A warp a block: nothing to do but where one begins a row that goes on.
template <class V, class I, class O>
__global__ void join_kernel(V alpha, view<V, I, O> a, V beta, V* y, V const* part) {
  wait_for_launch_before();
  std::size_t const b = (blockIdx.x * std::size_t{row_threads} + threadIdx.x) / 32;
  if (b >= static_cast<std::size_t>(a.blocks))
    return;
  O const parts = parts_from(a, b);
  if (parts == 0)
    return;
  V sum = 0;
  for (O k = threadIdx.x % 32; k < parts; k += 32)
    sum += part[b + k];
  sum = reduce<32>(sum);
  if (threadIdx.x % 32 == 0)
    update(y + a.row_block[b], alpha, sum, beta);
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (p.transposed)
    refuse("csr_adaptive", "transposed products have no kernel; those of csr and csc do");
  p.info[0] = static_cast<std::int64_t>(
      fold<sum>(static_cast<std::size_t>(a.blocks), p.stream,
                [=] __device__(std::size_t b) { return parts_from(a, b) != 0; }));
  p.method = p.info[0] == 0 ? "blocks of rows" : "blocks of rows, parts of long ones";
  return p.info[0] == 0 ? 0 : static_cast<std::size_t>(a.blocks) * sizeof(V);
}

template <class V, class I, class O>
void fill(view<V, I, O>, plan_view const&) {}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  auto const blocks = static_cast<std::size_t>(a.blocks);
  auto* const part = static_cast<V*>(p.work);
  launch_early_shared(row_blocks_kernel<V, I, O>, blocks, row_threads,
                      static_cast<std::size_t>(a.entries) * sizeof(V), stream, alpha, a, x, beta, y,
                      part);
  if (p.info[0] != 0)
    launch_early(join_kernel<V, I, O>, ceil_div(blocks * 32, std::size_t{row_threads}), row_threads,
                 stream, alpha, a, beta, y, static_cast<V const*>(part));
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(csr_adaptive)

} // namespace tulle::simt
