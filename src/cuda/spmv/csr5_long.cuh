// SPDX-License-Identifier: Apache-2.0

// Tiles of csr5 where rows are longer than tiles: most of them lie within a row, and a warp adds
// one up without looking at descriptors. Rows that tiles share are added in a second launch, from a
// sum for each tile, in order.
//
// Such rows reach over all of x, and the product waits for its sectors from the second-level cache.
// So where x does not fit the first one, tiles go by their first column: a block stays on its
// multiprocessor and takes a share of them, whose part of x is small. The order is the plan's.
#pragma once
#include "tulle/format/csr5.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"
#include "cuda/turn.cuh"
#include "cuda/workspace.cuh"

namespace tulle::simt {
namespace {

// H200, shares of the bound of csr, tiles of 4 steps / 8 / by descriptors with 12: dense 2048 .97,
// .79, .73; lp .46, .42, .39; in float dense .64, .61, .49, lp .49, .38, .30. Tiles in their own
// order: lp .42, in float .32. Two blocks of 768 threads: dense .65, lp .40.
constexpr int steps = 4;
constexpr int long_threads = 1024; // of a block: one on each multiprocessor
constexpr int join_threads = 256;
constexpr std::size_t cached_x = 128 << 10; // bytes that stay in the first-level cache anyway

template <class V, class O>
struct long_tiles {
  O tiles;
  O const* order; // of tiles, where !is_in_order
  bool is_in_order;
  V* head; // of each: what belongs to the row that is open at its beginning
  V* tail; // and to the one that is open at its end

  long_tiles(carver& work, O tiles, bool is_in_order)
      : tiles(tiles), order(work.take<O>(is_in_order ? 0 : static_cast<std::size_t>(tiles))),
        is_in_order(is_in_order), head(work.take<V>(static_cast<std::size_t>(tiles))),
        tail(work.take<V>(static_cast<std::size_t>(tiles))) {}
};

template <class V, class I, class O>
struct tile_entries {
  I col[steps];
  V val[steps];

  __device__ tile_entries(csr5_view<V, I, O, space::device> const& a, std::size_t tile) {
    std::size_t const at = tile * (32 * steps) + threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < steps; ++k) {
      col[k] = __ldcs(a.col + at + 32 * k);
      val[k] = __ldcs(a.val + at + 32 * k);
    }
  }
};

/// The parts of a tile that is not all of one row: a whole row goes to y.
template <class V, class I, class O>
__device__ void add_rows(V const (&product)[steps], V alpha,
                         csr5_view<V, I, O, space::device> const& a, std::int64_t begin, I row,
                         V beta, V* y, V* head, V* tail) {
  std::int64_t const end = begin + 32 * steps;
  for (; row < a.rows && a.row_ptr[row] < end; ++row) {
    std::int64_t const row_begin = a.row_ptr[row], row_end = a.row_ptr[row + 1];
    if (row_begin == row_end)
      continue;
    V sum = 0;
#pragma unroll
    for (int k = 0; k < steps; ++k) {
      std::int64_t const at = begin + threadIdx.x % 32 * steps + k;
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
    long_kernel(V alpha, csr5_view<V, I, O, space::device> a, V const* __restrict__ x, V beta,
                V* __restrict__ y, long_tiles<V, O> t) {
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
      product[k] = __ldg(x + e.col[k]);
    auto const first = static_cast<I>(a.tile_ptr[tile] & ~detail::csr5_mark<I>);
    auto const behind = static_cast<I>(a.tile_ptr[tile + 1] & ~detail::csr5_mark<I>);
#pragma unroll
    for (int k = 0; k < steps; ++k)
      product[k] *= e.val[k];
    std::size_t const done = tile;
    at += warps;
    if (at < end) { // asked for while x is on its way
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

/// A warp a row, of those that no tile has whole: those of several tiles, of the entries behind the
/// last tile, and empty ones.
template <class V, class I, class O>
__global__ void join_long_kernel(V alpha, csr5_view<V, I, O, space::device> a,
                                 V const* __restrict__ x, V beta, V* __restrict__ y,
                                 long_tiles<V, O> t) {
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
      sum += __ldcg((p == from && begin > from * n ? t.tail : t.head) + p);
  for (std::int64_t k = (begin > rest ? begin : rest) + lane; k < end; k += 32)
    sum = fma(a.val[k], x[a.col[k]], sum);
  sum = reduce<32>(sum);
  if (lane == 0)
    update(y + row, alpha, sum, beta);
}

template <class V, class I, class O>
__global__ void first_columns_kernel(csr5_view<V, I, O, space::device> a, O tiles, I* first) {
  std::size_t const t = blockIdx.x * std::size_t{join_threads} + threadIdx.x;
  if (t < static_cast<std::size_t>(tiles))
    first[t] = a.col[t * (32 * steps)];
}

template <class V, class I, class O>
O tiles_of(csr5_view<V, I, O, space::device> const& a) {
  return static_cast<O>(a.nnz / (32 * steps));
}
/// At most half of the tiles have a row's end in them.
template <class V, class I, class O>
bool is_long(csr5_view<V, I, O, space::device> const& a) {
  return a.omega == 32 && a.sigma == steps && tiles_of(a) > 0 && a.nnz / (64 * steps) >= a.rows;
}
template <class V, class I, class O>
bool is_x_cached(csr5_view<V, I, O, space::device> const& a) {
  return static_cast<std::size_t>(a.cols) * sizeof(V) <= cached_x;
}
template <class V, class I, class O>
std::size_t long_bytes(csr5_view<V, I, O, space::device> const& a) {
  carver work;
  long_tiles<V, O>(work, tiles_of(a), is_x_cached(a));
  return work.used();
}
template <class V, class I, class O>
void order_long(csr5_view<V, I, O, space::device> const& a, plan_view const& p) {
  if (is_x_cached(a))
    return;
  O const tiles = tiles_of(a);
  auto const n = static_cast<std::size_t>(tiles);
  carver work(p.work);
  long_tiles<V, O> const t(work, tiles, false);
  scratch<I> const first(n, p.stream), sorted(n, p.stream);
  launch(first_columns_kernel<V, I, O>, ceil_div(n, std::size_t{join_threads}), join_threads,
         p.stream, a, tiles, first.get());
  order_by(a.cols, tiles, static_cast<I const*>(first.get()), sorted.get(), const_cast<O*>(t.order),
           p.stream);
}

/// blocks: as many as the device has multiprocessors.
template <class V, class I, class O>
void multiply_long(V alpha, csr5_view<V, I, O, space::device> const& a, V const* x, V beta, V* y,
                   void* work, std::size_t blocks, void* stream) {
  carver at(work);
  long_tiles<V, O> const t(at, tiles_of(a), is_x_cached(a));
  launch_early(long_kernel<V, I, O>, blocks, long_threads, stream, alpha, a, x, beta, y, t);
  launch_early(join_long_kernel<V, I, O>,
               ceil_div(static_cast<std::size_t>(a.rows) * 32, std::size_t{join_threads}),
               join_threads, stream, alpha, a, x, beta, y, t);
}

} // namespace
} // namespace tulle::simt
