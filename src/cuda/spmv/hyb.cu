// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in hyb: the ell first, a lane a row; then what is beyond it.
//
// The coo's entries go in tiles, a warp each: products, a segmented scan over lanes by row (Liu,
// thesis 2015, sec. 4.4), and a sum a row, which a tile adds to y where it has the whole row. A row
// that tiles share leaves its sums in `tail` of the tile where it begins and in `head` of those
// that it goes on in, and a last kernel adds these in order. So the bits depend on the matrix
// alone.
#include "tulle/format/hyb.hpp"

#include "cuda/spmv/ell_rows.cuh"

namespace tulle::simt {
namespace {

template <class V, class I, class O>
using view = hyb_view<V, I, O, space::device>;

constexpr int threads = 256;
constexpr int rounds = 8; // of 32 entries, a tile
constexpr std::int64_t tile = 32 * rounds;

template <class V>
struct shared_rows {
  std::int64_t tiles;
  V* head; // a sum a tile, of the row that it begins within
  V* tail; // and of the row that begins in it and goes on

  explicit shared_rows(std::int64_t rest, plan_view const& p)
      : tiles(ceil_div(rest, tile)), head(static_cast<V*>(p.work)), tail(head + tiles) {}
};

template <class V, class I, class O>
__global__ void __launch_bounds__(threads)
    tiles_kernel(V alpha, view<V, I, O> a, V const* x, V* y, shared_rows<V> shared) {
  wait_for_launch_before();
  std::int64_t const t = (blockIdx.x * std::int64_t{threads} + threadIdx.x) / 32;
  if (t >= shared.tiles)
    return;
  int const lane = threadIdx.x % 32;
  std::int64_t const begin = t * tile;
  std::int64_t const end = a.rest - begin < tile ? a.rest : begin + tile;
  I const first = a.coo_row[begin], last = a.coo_row[end - 1];
  bool const goes_back = begin > 0 && a.coo_row[begin - 1] == first;
  bool const goes_on = end < a.rest && a.coo_row[end] == last;
  auto const leave = [&](I row, V sum) {
    if (goes_back && row == first)
      shared.head[t] = sum;
    else if (goes_on && row == last)
      shared.tail[t] = sum;
    else
      y[row] = fma(alpha, sum, y[row]);
  };

  I row[rounds], col[rounds];
  V product[rounds];
#pragma unroll
  for (int u = 0; u < rounds; ++u) {
    std::int64_t const k = begin + u * 32 + lane;
    row[u] = k < end ? once(a.coo_row + k) : I(-1);
    col[u] = k < end ? once(a.coo_col + k) : I(0);
    product[u] = k < end ? once(a.coo_val + k) : V(0);
  }
#pragma unroll
  for (int u = 0; u < rounds; ++u)
    product[u] = row[u] < 0 ? V(0) : product[u] * __ldg(x + col[u]);

  if (first == last) {
    V sum = 0;
#pragma unroll
    for (int u = 0; u < rounds; ++u)
      sum += product[u];
    sum = reduce<32>(sum);
    if (lane == 0)
      leave(first, sum);
    return;
  }
  I open = first; // the row that goes on from the round before, and its sum
  V so_far = 0;
#pragma unroll
  for (int u = 0; u < rounds; ++u) {
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

/// A warp a tile: nothing to do but where a row begins that goes on.
template <class V, class I, class O>
__global__ void __launch_bounds__(threads)
    join_kernel(V alpha, view<V, I, O> a, V* y, shared_rows<V> shared) {
  wait_for_launch_before();
  std::int64_t const t = (blockIdx.x * std::int64_t{threads} + threadIdx.x) / 32;
  if (t + 1 >= shared.tiles)
    return;
  std::int64_t const begin = t * tile;
  I const row = a.coo_row[begin + tile - 1];
  if (a.coo_row[begin + tile] != row || (begin > 0 && a.coo_row[begin - 1] == row))
    return;
  V sum = 0;
  for (std::int64_t u = t + 1 + threadIdx.x % 32; u < shared.tiles && a.coo_row[u * tile] == row;
       u += 32)
    sum += shared.head[u];
  sum = reduce<32>(sum);
  if (threadIdx.x % 32 == 0)
    y[row] = fma(alpha, shared.tail[t] + sum, y[row]);
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (p.transposed)
    refuse("hyb", "transposed products have no kernel; those of csr and csc do");
  p.method = a.rest == 0 ? "rows" : "rows, the rest by tiles";
  return 2 * static_cast<std::size_t>(ceil_div<std::int64_t>(a.rest, tile)) * sizeof(V);
}

template <class V, class I, class O>
void fill(view<V, I, O>, plan_view const&) {}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  multiply_ell(alpha, a.regular(), x, beta, y, stream);
  shared_rows<V> const shared(a.rest, p);
  auto const tiles = static_cast<std::size_t>(shared.tiles);
  constexpr std::size_t warps = threads / 32;
  launch_early(tiles_kernel<V, I, O>, ceil_div(tiles, warps), threads, stream, alpha, a, x, y,
               shared);
  if (tiles > 1)
    launch_early(join_kernel<V, I, O>, ceil_div(tiles, warps), threads, stream, alpha, a, y,
                 shared);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(hyb)

} // namespace tulle::simt
