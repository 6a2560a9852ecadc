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

// us of a product, double, H200, with 256 threads, entries of 512, 1024, 2048, 4096: rmat 21 16
// 302, 288, 304, 587; circuit 2000000 122, 86, 74, 136; fem 500000 241, 151, 110, 159; lattice
// 4000000 132, 91, 78, 86; poisson2d5 4096 685, 447, 363, 434. With threads by entries, and long
// rows left to warps, 1024 and 2048: rmat 291, 291; circuit 76, 76; fem 110, 113; lattice 77, 79.
// What is read once past the caches as well: 287, 286; 72, 72; 105, 107; 82, 84.

constexpr int entries_of_thread = 8; // of a full block: so many loads are in flight
// A row of more in a block of several, and of more than so many times their mean, is added up by a
// warp, when the shorter ones are done.
constexpr int short_row = 64;
constexpr int long_times = 4;
// Rows of so many entries on average, and more: entries are read past the caches.
constexpr std::int64_t streamed_average = 6;

/// The blocks of the long row that block b begins, where b does that; else 0.
template <class V, class I, class O>
__device__ O parts_from(view<V, I, O> const& a, std::size_t b) {
  I const i = a.row_block[b];
  if (a.row_block[b + 1] != i || (b > 0 && a.row_block[b - 1] == i))
    return 0;
  return detail::blocks_of_row<O>(a.row_ptr[i + 1] - a.row_ptr[i], a.entries);
}

/// Rows of a block that are left to warps. In any order: no sum depends on it.
struct left_rows {
  int count;
  int row[detail::most_block_entries / short_row];
};

/// The rows of a block, and how its threads share them. What is known of a thread's first row is
/// loaded ahead of the products.
template <int threads, class I, class O>
struct rows_of_block {
  O const* row_ptr;
  I first;
  int rows, most, width;
  O k0, begin, end; // of the thread's first row

  __device__ rows_of_block(O const* row_ptr, I first, I last, O k0, O k1)
      : row_ptr(row_ptr), first(first), rows(static_cast<int>(last - first)), width(1), k0(k0),
        begin(0), end(0) {
    most = max(short_row, long_times * (static_cast<int>(k1 - k0) / rows));
    while (width < 32 && rows * width * 2 <= threads)
      width *= 2;
    if (int const r = static_cast<int>(threadIdx.x) / width; r < rows) {
      begin = row_ptr[first + r];
      end = row_ptr[first + r + 1];
    }
  }

  /// Products from entry k0 on are there.
  template <class V>
  __device__ void add(V alpha, V const* product, left_rows& left, V beta, V* y) {
    int const lane = threadIdx.x % width;
    // All threads go round as often as the first, for the shuffles.
    for (int r0 = 0; r0 < rows; r0 += threads / width) {
      int const r = r0 + static_cast<int>(threadIdx.x) / width;
      if (r0 != 0 && r < rows) {
        begin = row_ptr[first + r];
        end = row_ptr[first + r + 1];
      }
      bool const is_left = r < rows && width < 32 && end - begin > most;
      V sum = 0;
      if (r < rows && !is_left)
        for (int k = static_cast<int>(begin - k0) + lane; k < static_cast<int>(end - k0);
             k += width)
          sum += product[k];
      sum = reduce(sum, width);
      if (r < rows && lane == 0) {
        if (is_left)
          left.row[atomicAdd(&left.count, 1)] = r;
        else
          update(y + first + r, alpha, sum, beta);
      }
    }
    if (width == 32)
      return;
    __syncthreads();
    for (int n = threadIdx.x / 32; n < left.count; n += threads / 32) {
      I const i = first + left.row[n];
      int const stop = static_cast<int>(row_ptr[i + 1] - k0);
      V sum = 0;
      for (int k = static_cast<int>(row_ptr[i] - k0) + threadIdx.x % 32; k < stop; k += 32)
        sum += product[k];
      sum = reduce<32>(sum);
      if (threadIdx.x % 32 == 0)
        update(y + i, alpha, sum, beta);
    }
  }
};

template <int threads, bool streamed, class V, class I, class O>
__global__ void __launch_bounds__(threads)
    row_blocks_kernel(V alpha, view<V, I, O> a, V const* x, V beta, V* y, V* part) {
  extern __shared__ __align__(16) char shared[];
  __shared__ block_room<V> room;
  __shared__ left_rows left;
  wait_for_launch_before();
  std::size_t const b = blockIdx.x;
  I const first = a.row_block[b];
  I const last = a.row_block[b + 1];
  O const k0 = a.row_ptr[first];
  O const k1 = a.row_ptr[first == last ? first + 1 : last];
  if (k1 - k0 <= a.entries) {
    auto* const product = reinterpret_cast<V*>(shared);
    rows_of_block<threads, I, O> rows(a.row_ptr, first, last, k0, k1);
    if (threadIdx.x == 0)
      left.count = 0;
    multiply<threads, streamed>(lines<V, I, O>{a.rows, a.nnz, a.row_ptr, a.col, a.val, nullptr}, x,
                                k0, static_cast<int>(k1 - k0), product);
    __syncthreads();
    return rows.add(alpha, static_cast<V const*>(product), left, beta, y);
  }
  O const most = static_cast<O>(a.entries) * detail::long_row_blocks;
  bool const is_part = k1 - k0 > most;
  O const k = is_part ? k0 + static_cast<O>(b - lower_bound(a.row_block, b, first)) * most : k0;
  O const end = k1 - k < most ? k1 : k + most;
  constexpr std::integral_constant<int, threads> stride;
  int const mine =
      (static_cast<int>(end - k) - static_cast<int>(threadIdx.x) + stride - 1) / stride;
  V const sum = block_reduce<threads>(
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
  auto const run = [&](auto kernel, int threads) {
    launch_early_shared(kernel, blocks, threads, static_cast<std::size_t>(a.entries) * sizeof(V),
                        stream, alpha, a, x, beta, y, part);
  };
  bool const is_streamed = a.rows != 0 && a.nnz / a.rows >= streamed_average;
  if (a.entries <= 128 * entries_of_thread)
    run(is_streamed ? row_blocks_kernel<128, true, V, I, O>
                    : row_blocks_kernel<128, false, V, I, O>,
        128);
  else
    run(is_streamed ? row_blocks_kernel<256, true, V, I, O>
                    : row_blocks_kernel<256, false, V, I, O>,
        256);
  if (p.info[0] != 0)
    launch_early(join_kernel<V, I, O>, ceil_div(blocks * 32, std::size_t{row_threads}), row_threads,
                 stream, alpha, a, beta, y, static_cast<V const*>(part));
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(csr_adaptive)

} // namespace tulle::simt
