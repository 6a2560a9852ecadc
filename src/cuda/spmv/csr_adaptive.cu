// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in CSR-Adaptive.
//
// Greathouse & Daga, SC 2014: one thread block per row block. The products of rows that share a
// block are written in order to shared memory and then added up, with the lanes divided among the
// rows; a long row is added up by all threads, or by those of several blocks. If nearly all entries
// are in long rows, long_rows.cuh is used.
#include "tulle/format/csr_adaptive.hpp"

#include "cuda/each.cuh"
#include "cuda/long_rows.cuh"
#include "cuda/spmv/ell_rows.cuh"
#include "cuda/spmv/parts.cuh"
#include "cuda/spmv/rows.cuh"
#include "format/detail/row_blocks.hpp"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = csr_adaptive_view<V, I, O, space::cuda>;

// us of a product, double, H200, with 256 threads, entries of 512, 1024, 2048, 4096: rmat 21 16
// 302, 288, 304, 587; circuit 2000000 122, 86, 74, 136; fem 500000 241, 151, 110, 159; lattice
// 4000000 132, 91, 78, 86; poisson2d5 4096 685, 447, 363, 434. With threads in proportion to
// entries, and long rows added by warps, 1024 and 2048: rmat 291, 291; circuit 76, 76; fem 110,
// 113; lattice 77, 79. In addition with loads that bypass the caches: 287, 286; 72, 72; 105, 107;
// 82, 84. Four entries per thread: 284 for 285; 86 for 82; fem 164 for 127. Eight loads of a long
// row in flight instead of four take registers: lp 4096 1100000 2600 90 for 91, but circuit 82 for
// 69, fem 127 for 110. Long rows by parts of one or two times a block's entries instead of four: lp
// 100, 90 for 90.

constexpr int entries_of_thread = 8; // of a full block, which is the number of loads in flight
// In a block of several rows, a row of more entries than this, and of more than so many times the
// mean, is added up by a warp after the shorter ones.
constexpr int short_row = 64;
constexpr int long_times = 4;
// If rows have at least so many entries on average, loads of entries bypass the caches.
constexpr std::int64_t streamed_average = 6;

/// Rows of a block that warps add up, in any order: no sum depends on it.
struct left_rows {
  int count;
  int row[detail::most_block_entries / short_row];
};

/// The rows of a block, and how its threads share them. The bounds of a thread's first row are
/// loaded before the products.
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

  /// Called when the products from entry k0 on are written.
  template <class V>
  __device__ void add(V alpha, V const* product, left_rows& left, V beta, V* y) {
    int const lane = threadIdx.x % width;
    // All threads make the same number of iterations, for the shuffles.
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
    row_blocks_kernel(V alpha, view<V, I, O> a, V const* x, V beta, V* y, row_parts<V> parts) {
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
  std::size_t const first_part = is_part ? lower_bound(a.row_block, b, first) : b;
  O const k = k0 + static_cast<O>(b - first_part) * most;
  O const end = k1 - k < most ? k1 : k + most;
  constexpr std::integral_constant<int, threads> stride;
  int const mine =
      (static_cast<int>(end - k) - static_cast<int>(threadIdx.x) + stride - 1) / stride;
  V const sum = block_reduce<threads>(
      sum_steps<4>(a.val + k + threadIdx.x, stride, a.col + k + threadIdx.x, stride, 0, mine, 4, x),
      room);
  if (is_part)
    parts.template leave<threads>(
        sum, first_part, b - first_part,
        static_cast<std::size_t>(detail::blocks_of_row<O>(k1 - k0, a.entries)), room, alpha, beta,
        y + first);
  else if (threadIdx.x == 0)
    update(y + first, alpha, sum, beta);
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (p.transposed)
    refuse("csr_adaptive", "transposed products have no kernel; those of csr and csc do");
  p.info[1] = are_long_and_even(a.rows, a.nnz, a.row_ptr, p.stream);
  if (p.info[1] != 0)
    return long_bytes(long_view(a), p);
  auto const blocks = static_cast<std::size_t>(a.blocks);
  p.info[0] = static_cast<std::int64_t>(fold<sum>(blocks, p.stream, [=] __device__(std::size_t b) {
    return a.row_block[b] == a.row_block[b + 1];
  }));
  p.method = p.info[0] == 0 ? "blocks of rows" : "blocks of rows, parts of long ones";
  carver work;
  row_parts<V>(p.info[0] == 0 ? 0 : blocks, work);
  return work.used();
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view const& p) {
  if (p.info[1] != 0)
    return fill_long(long_view(a), p);
  auto const parts = p.info[0] == 0 ? 0 : static_cast<std::size_t>(a.blocks);
  carver work(p.work);
  row_parts<V>(parts, work).clear(parts, p.stream);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  if (p.info[1] != 0)
    return multiply_long(alpha, long_view(a), x, beta, y, p, stream);
  auto const blocks = static_cast<std::size_t>(a.blocks);
  carver work(p.work);
  row_parts<V> const parts(p.info[0] == 0 ? 0 : blocks, work);
  auto const run = [&](auto kernel, int threads) {
    launch_early_shared(kernel, blocks, threads, static_cast<std::size_t>(a.entries) * sizeof(V),
                        stream, alpha, a, x, beta, y, parts);
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
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(csr_adaptive)

} // namespace tulle::kernels::cuda
