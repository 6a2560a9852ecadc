// SPDX-License-Identifier: Apache-2.0
#include "cuda/each.cuh"
#include "cuda/long_rows.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/sort_by_key.cuh"
#include "cuda/types.hpp"

namespace tulle::kernels::cuda {
namespace {

// H200, shares of the bound of csr, tiles of 4 steps / 8 / by descriptors of csr5 with 12: dense
// 2048 .97, .79, .73; lp .46, .42, .39; in float dense .64, .61, .49, lp .49, .38, .30. Tiles in
// the matrix's order: lp .42, in float .32. Two blocks of 768 threads: dense .65, lp .40. us of a
// product with the format's own kernel and with this one, lp and dense: csr 99, 80 and 17.9, 16.0;
// acsr 94, 80 and 16.8, 16.0; csr_adaptive 91, 78 and 21.5, 16.0; the best csr of cuSPARSE 85, 21.
constexpr int steps = long_steps;
constexpr int long_threads = 1024; // of a block: one on each multiprocessor
constexpr int join_threads = 256;
constexpr std::size_t cached_x = 128 << 10; // bytes of x that stay in L1 anyway

template <class V, class I, class O>
struct long_tiles {
  O tiles;
  row_mark<I> const* first; // row of each, and of the next; marks are ignored
  O const* order;           // of tiles, where !is_in_order
  bool is_in_order;
  V* head; // of each tile: the sum of the row that is open at its beginning
  V* tail; // and of the row that is open at its end

  long_tiles(long_rows<V, I, O> const& a, carver& work)
      : tiles(static_cast<O>(a.nnz / (32 * steps))),
        is_in_order(static_cast<std::size_t>(a.cols) * sizeof(V) <= cached_x) {
    auto const n = static_cast<std::size_t>(tiles);
    first = a.first_row ? a.first_row : work.take<row_mark<I>>(n + 1);
    order = work.take<O>(is_in_order ? 0 : n);
    head = work.take<V>(n);
    tail = work.take<V>(n);
  }
  __device__ I row_of(std::size_t t) const {
    return static_cast<I>(first[t] & ~detail::csr5_mark<I>);
  }
};

template <class V, class I, class O>
struct tile_entries {
  I col[steps];
  V val[steps];

  __device__ tile_entries(long_rows<V, I, O> const& a, std::size_t tile) {
    std::size_t const at = tile * (32 * steps) + threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < steps; ++k) {
      col[k] = __ldcs(a.col + at + 32 * k);
      val[k] = load_streaming(a.val + at + 32 * k);
    }
  }
};

/// The parts of a tile with more than one row; whole rows go to y.
template <class V, class I, class O>
__device__ void add_rows(V const (&product)[steps], V alpha, long_rows<V, I, O> const& a,
                         std::int64_t begin, I row, V beta, V* y, V* head, V* tail) {
  std::int64_t const end = begin + 32 * steps;
  for (; row < a.rows && a.row_ptr[row] < end; ++row) {
    std::int64_t const row_begin = a.row_ptr[row], row_end = a.row_ptr[row + 1];
    if (row_begin == row_end)
      continue;
    V sum = 0;
#pragma unroll
    for (int k = 0; k < steps; ++k) {
      int const of_lane = threadIdx.x % 32;
      std::int64_t const at = begin + (a.is_turned ? of_lane * steps + k : of_lane + 32 * k);
      if (at >= row_begin && at < row_end)
        sum += product[k];
    }
    sum = reduce<32>(sum);
    if (threadIdx.x % 32 != 0)
      continue;
    if (row_begin >= begin && row_end <= end)
      update(y + row, alpha, sum, beta);
    else
      *(row_begin <= begin ? head : tail) = sum;
  }
}

template <class V, class I, class O>
__global__ void __launch_bounds__(long_threads, 1)
    long_kernel(V alpha, long_rows<V, I, O> a, V const* __restrict__ x, V beta, V* __restrict__ y,
                long_tiles<V, I, O> t) {
  constexpr int warps = long_threads / 32;
  wait_for_launch_before();
  let_next_launch_begin();
  auto const share = [&](unsigned b) { return static_cast<std::size_t>(t.tiles) * b / gridDim.x; };
  std::size_t at = share(blockIdx.x) + threadIdx.x / 32;
  std::size_t const end = share(blockIdx.x + 1);
  if (at >= end)
    return;
  auto const tile_at = [&](std::size_t k) {
    return t.is_in_order ? k : static_cast<std::size_t>(t.order[k]);
  };
  std::size_t tile = tile_at(at);
  tile_entries<V, I, O> e(a, tile);
  while (true) {
    V product[steps];
#pragma unroll
    for (int k = 0; k < steps; ++k)
      product[k] = load_read_only(x + e.col[k]);
    I const first = t.row_of(tile), behind = t.row_of(tile + 1);
#pragma unroll
    for (int k = 0; k < steps; ++k)
      product[k] *= e.val[k];
    std::size_t const done = tile;
    at += warps;
    if (at < end) { // loaded while x is on its way
      tile = tile_at(at);
      e = tile_entries<V, I, O>(a, tile);
    }
    if (first == behind) {
      V sum = product[0];
#pragma unroll
      for (int k = 1; k < steps; ++k)
        sum += product[k];
      sum = reduce<32>(sum);
      if (threadIdx.x % 32 == 0)
        t.head[done] = sum;
    } else {
      add_rows(product, alpha, a, static_cast<std::int64_t>(done) * (32 * steps), first, beta, y,
               t.head + done, t.tail + done);
    }
    if (at >= end)
      return;
  }
}

/// One warp per row that is not within one tile: rows of several tiles, rows of the entries after
/// the last tile, and empty rows.
template <class V, class I, class O>
__global__ void join_long_kernel(V alpha, long_rows<V, I, O> a, V const* __restrict__ x, V beta,
                                 V* __restrict__ y, long_tiles<V, I, O> t) {
  std::size_t const row = (blockIdx.x * std::size_t{join_threads} + threadIdx.x) / 32;
  if (row >= static_cast<std::size_t>(a.rows))
    return;
  int const lane = threadIdx.x % 32;
  std::int64_t const n = 32 * steps;
  std::int64_t const begin = a.row_ptr[row], end = a.row_ptr[row + 1];
  std::int64_t const rest = static_cast<std::int64_t>(t.tiles) * n;
  std::int64_t const from = begin / n;
  std::int64_t const to = end > rest ? static_cast<std::int64_t>(t.tiles) - 1 : (end - 1) / n;
  if (begin < end && end <= rest && from == to)
    return;
  wait_for_launch_before();
  V sum = 0;
  if (begin < end)
    for (std::int64_t p = from + lane; p <= to; p += 32)
      sum += load_past_l1((p == from && begin > from * n ? t.tail : t.head) + p);
  for (std::int64_t k = (begin > rest ? begin : rest) + lane; k < end; k += 32)
    sum = fma(a.val[k], x[a.col[k]], sum);
  sum = reduce<32>(sum);
  if (lane == 0)
    update(y + row, alpha, sum, beta);
}

} // namespace

template <class V, class I, class O>
std::size_t long_bytes(long_rows<V, I, O> const& a, plan_view& p) {
  carver work;
  long_tiles<V, I, O> const t(a, work);
  p.method = t.is_in_order ? "tiles of long rows" : "tiles of long rows, by columns";
  return work.used();
}

template <class V, class I, class O>
void fill_long(long_rows<V, I, O> const& a, plan_view const& p) {
  carver work(p.work);
  long_tiles<V, I, O> const t(a, work);
  auto const n = static_cast<std::size_t>(t.tiles);
  if (!a.first_row)
    each(n + 1, p.stream, [a, first = const_cast<row_mark<I>*>(t.first)] __device__(std::size_t k) {
      first[k] = static_cast<row_mark<I>>(
          upper_bound(a.row_ptr, static_cast<O>(a.rows) + 1, static_cast<O>(k * (32 * steps))) - 1);
    });
  if (t.is_in_order)
    return;
  scratch<I> const column(n, p.stream), sorted(n, p.stream);
  each(n, p.stream, [a, column = column.get()] __device__(std::size_t k) {
    column[k] = a.col[k * (32 * steps)];
  });
  order_by(a.cols, t.tiles, static_cast<I const*>(column.get()), sorted.get(),
           const_cast<O*>(t.order), p.stream);
}

template <class V, class I, class O>
void multiply_long(V alpha, long_rows<V, I, O> const& a, V const* x, V beta, V* y,
                   plan_view const& p, void* stream) {
  check_aligned(a.val, x, y);
  carver work(p.work);
  long_tiles<V, I, O> const t(a, work);
  int device = 0, blocks = 0;
  TULLE_CUDA(cudaGetDevice, &device);
  TULLE_CUDA(cudaDeviceGetAttribute, &blocks, cudaDevAttrMultiProcessorCount, device);
  launch_early(long_kernel<V, I, O>, static_cast<std::size_t>(blocks), long_threads, stream, alpha,
               a, x, beta, y, t);
  launch_early(join_long_kernel<V, I, O>,
               ceil_div(static_cast<std::size_t>(a.rows) * 32, std::size_t{join_threads}),
               join_threads, stream, alpha, a, x, beta, y, t);
}

#define TULLE_LONG_ROWS(tag, V, I, O)                                                              \
  template std::size_t long_bytes(long_rows<V, I, O> const&, plan_view&);                          \
  template void fill_long(long_rows<V, I, O> const&, plan_view const&);                            \
  template void multiply_long(V, long_rows<V, I, O> const&, V const*, V, V*, plan_view const&,     \
                              void*);
TULLE_KERNEL_TYPES(TULLE_LONG_ROWS)

} // namespace tulle::kernels::cuda
