// SPDX-License-Identifier: Apache-2.0

// y = y + alpha A x for the entries that a format keeps in coo, in row order: hyb, the jds family.
//
// The entries are cut into tiles, one warp each: it computes products and a segmented scan over
// lanes by row (Liu, thesis 2015, sec. 4.4), and adds the sum of a row to y if the tile has the
// whole row. A row that tiles share leaves its sums in `tail` of the tile where it begins and in
// `head` of those that it goes on in, and a last kernel adds these in order. So the bits depend on
// the matrix alone.
#pragma once
#include "cuda/spmv/ell_rows.cuh"

namespace tulle::kernels::cuda {
namespace {

/// Entries in row order.
template <class V, class I, class O>
struct coo_part {
  O n;
  I const *row, *col;
  V const* val;
};

constexpr int coo_threads = 256;
constexpr int coo_rounds = 8; // of 32 entries, per tile
constexpr std::int64_t coo_tile = 32 * coo_rounds;

template <class V>
struct shared_rows {
  std::int64_t tiles;
  V* head; // one sum per tile, of the row that it begins within
  V* tail; // and of the row that begins in it and goes on

  explicit shared_rows(std::int64_t n, void* work)
      : tiles(ceil_div(n, coo_tile)), head(static_cast<V*>(work)), tail(head + tiles) {}
};

template <class V, class I, class O>
__global__ void __launch_bounds__(coo_threads)
    coo_tiles_kernel(V alpha, coo_part<V, I, O> a, V const* x, V* y, shared_rows<V> shared) {
  wait_for_launch_before();
  std::int64_t const t = (blockIdx.x * std::int64_t{coo_threads} + threadIdx.x) / 32;
  if (t >= shared.tiles)
    return;
  int const lane = threadIdx.x % 32;
  std::int64_t const begin = t * coo_tile;
  std::int64_t const end = a.n - begin < coo_tile ? a.n : begin + coo_tile;
  I const first = a.row[begin], last = a.row[end - 1];
  bool const goes_back = begin > 0 && a.row[begin - 1] == first;
  bool const goes_on = end < a.n && a.row[end] == last;
  auto const leave = [&](I row, V sum) {
    if (goes_back && row == first)
      shared.head[t] = sum;
    else if (goes_on && row == last)
      shared.tail[t] = sum;
    else
      y[row] = fma(alpha, sum, y[row]);
  };

  I row[coo_rounds], col[coo_rounds];
  V product[coo_rounds];
#pragma unroll
  for (int u = 0; u < coo_rounds; ++u) {
    std::int64_t const k = begin + u * 32 + lane;
    row[u] = k < end ? once(a.row + k) : I(-1);
    col[u] = k < end ? once(a.col + k) : I(0);
    product[u] = k < end ? once(a.val + k) : V(0);
  }
#pragma unroll
  for (int u = 0; u < coo_rounds; ++u)
    product[u] = row[u] < 0 ? V(0) : product[u] * __ldg(x + col[u]);

  if (first == last) {
    V sum = 0;
#pragma unroll
    for (int u = 0; u < coo_rounds; ++u)
      sum += product[u];
    sum = reduce<32>(sum);
    if (lane == 0)
      leave(first, sum);
    return;
  }
  I open = first; // the row that continues from the round before, and its sum
  V so_far = 0;
#pragma unroll
  for (int u = 0; u < coo_rounds; ++u) {
    I const here = row[u];
    V sum = product[u];
    if (lane == 0 && here == open)
      sum += so_far;
    else if (lane == 0 && open >= 0)
      leave(open, so_far);
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      V const before = __shfl_up_sync(whole_warp, sum, d);
      I const of = __shfl_up_sync(whole_warp, here, d);
      if (lane >= d && of == here)
        sum += before;
    }
    I const next = __shfl_down_sync(whole_warp, here, 1);
    if (lane < 31 && here != next && here >= 0)
      leave(here, sum);
    open = __shfl_sync(whole_warp, here, 31);
    so_far = __shfl_sync(whole_warp, sum, 31);
  }
  if (lane == 0 && open >= 0)
    leave(open, so_far);
}

/// One warp per tile: it has work only if a row begins in the tile and continues in others.
template <class V, class I, class O>
__global__ void __launch_bounds__(coo_threads)
    coo_join_kernel(V alpha, coo_part<V, I, O> a, V* y, shared_rows<V> shared) {
  wait_for_launch_before();
  std::int64_t const t = (blockIdx.x * std::int64_t{coo_threads} + threadIdx.x) / 32;
  if (t + 1 >= shared.tiles)
    return;
  std::int64_t const begin = t * coo_tile;
  I const row = a.row[begin + coo_tile - 1];
  if (a.row[begin + coo_tile] != row || (begin > 0 && a.row[begin - 1] == row))
    return;
  V sum = 0;
  for (std::int64_t u = t + 1 + threadIdx.x % 32; u < shared.tiles && a.row[u * coo_tile] == row;
       u += 32)
    sum += shared.head[u];
  sum = reduce<32>(sum);
  if (threadIdx.x % 32 == 0)
    y[row] = fma(alpha, shared.tail[t] + sum, y[row]);
}

/// Bytes of workspace for n entries.
template <class V>
std::size_t coo_workspace(std::int64_t n) {
  return 2 * static_cast<std::size_t>(ceil_div(n, coo_tile)) * sizeof(V);
}

template <class V, class I, class O>
void add_coo(V alpha, coo_part<V, I, O> const& a, V const* x, V* y, void* work, void* stream) {
  shared_rows<V> const shared(a.n, work);
  auto const tiles = static_cast<std::size_t>(shared.tiles);
  constexpr std::size_t warps = coo_threads / 32;
  launch_early(coo_tiles_kernel<V, I, O>, ceil_div(tiles, warps), coo_threads, stream, alpha, a, x,
               y, shared);
  if (tiles > 1)
    launch_early(coo_join_kernel<V, I, O>, ceil_div(tiles, warps), coo_threads, stream, alpha, a, y,
                 shared);
}

} // namespace
} // namespace tulle::kernels::cuda
