// SPDX-License-Identifier: Apache-2.0

// What bicrs, cbicrs and vbicrs share on the device: y = alpha A x + beta y where each column is a
// distance from the one before.
//
// A warp takes a tile of vectors, each one entry (bicrs, cbicrs) or 64 bytes of values (vbicrs).
// The plan keeps the column that a tile begins with and a bit for each vector that begins a row, or
// a group of rows; so columns are prefix sums of distances over the warp, minus the number of those
// bits before times what a jump adds. Products go to shared memory, and the lanes, divided among
// the rows, add them up.
//
// A row within one tile is written to y. The pieces of other rows, cut by a tile's end or by
// blocks, are added by a second launch, in the order they are stored, which also sets rows without
// entries.
#pragma once
#include "cuda/primitive/block.cuh"
#include "cuda/spmv/bicrs_plan.cuh"
#include "cuda/spmv/rows.cuh"

#include <limits>

namespace tulle::kernels::cuda {
namespace {

constexpr int tile_warps = 8;

/// A warp's tile.
template <class A, class V, class I, class D>
struct tile_part {
  std::size_t tile;
  int slots;
  D const* col; // from the tile's first slot on, as val
  V const* val;
  I base; // of columns
  V const* x;
  V* product;           // of each slot, in shared memory
  std::uint16_t* begin; // of each piece

  /// x of the column at a distance, which is signed, from `base`.
  __device__ __forceinline__ V x_at(typename A::sum by) const {
    using S = typename A::sum;
    using U = std::make_unsigned_t<I>;
    return x[static_cast<I>(static_cast<U>(base) +
                            static_cast<U>(static_cast<std::make_signed_t<S>>(by)))];
  }
};

/// The products of a tile whose vectors are entries. Returns the number of pieces that begin in it,
/// except for its first.
template <class A, class V, class I, class O, class D>
__device__ __forceinline__ int multiply_entries(A const& a, bicrs_plan<V, I, O> const& at,
                                                tile_part<A, V, I, D> const& t) {
  using S = typename A::sum;
  int const lane = threadIdx.x % 32;
  int pieces = 0;
  D by[A::windows];
  V v[A::windows];
  S column[A::windows];
#pragma unroll
  for (int w = 0; w < A::windows; ++w) {
    int const k = w * 32 + lane;
    by[w] = k < t.slots ? t.col[k] : D(0);
    v[w] = k < t.slots ? t.val[k] : V(0);
  }
  unsigned const bits = lane < A::windows ? at.bits[t.tile * A::windows + lane] : 0;
  S before = 0;
#pragma unroll
  for (int w = 0; w < A::windows; ++w) {
    S const sum = inclusive_scan(static_cast<S>(by[w]));
    unsigned const groups = __shfl_sync(whole_warp, bits, w);
    int const jumps = __popc(groups & (0xffffffffu >> (31 - lane)));
    column[w] = static_cast<S>(before + sum - a.jump * static_cast<S>(jumps));
    if (groups >> lane & 1)
      t.begin[pieces + jumps] = static_cast<std::uint16_t>(w * 32 + lane);
    pieces += __popc(groups);
    before = __shfl_sync(whole_warp, column[w], 31);
  }
#pragma unroll
  for (int w = 0; w < A::windows; ++w)
    if (w * 32 + lane < t.slots)
      v[w] *= t.x_at(column[w]);
#pragma unroll
  for (int w = 0; w < A::windows; ++w)
    if (w * 32 + lane < t.slots)
      t.product[w * 32 + lane] = v[w];
  return pieces;
}

/// The same where vectors have n slots. k0: the tile's first.
template <int n, class A, class V, class I, class O, class D>
__device__ __forceinline__ int multiply_vectors(A const& a, bicrs_plan<V, I, O> const& at, O k0,
                                                tile_part<A, V, I, D> const& t) {
  using S = typename A::sum;
  int const lane = threadIdx.x % 32;
  D by[n];
  V v[n];
#pragma unroll
  for (int w = 0; w < n; ++w) {
    int const k = w * 32 + lane;
    by[w] = k < t.slots && k % n != 0 ? t.col[k] : D(0);
    v[w] = k < t.slots ? t.val[k] : V(0);
  }
  // One lane per vector: its column, and a bit for each slot that is an entry.
  using bits_of = std::conditional_t<n == 8, std::uint8_t, std::uint16_t>;
  bool const is_vector = lane * n < t.slots;
  unsigned entries = is_vector ? (1u << n) - 1 : 0;
  if (is_vector && a.has_holes)
    entries = reinterpret_cast<bits_of const*>(
        a.pattern)[static_cast<std::size_t>(k0) / n + static_cast<std::size_t>(lane)];
  unsigned const groups = at.bits[t.tile];
  int const jumps = __popc(groups & (0xffffffffu >> (31 - lane)));
  S const first =
      static_cast<S>(inclusive_scan(is_vector ? static_cast<S>(t.col[lane * n]) : S(0)) -
                     a.jump * static_cast<S>(jumps));
  if (groups >> lane & 1)
    t.begin[jumps] = static_cast<std::uint16_t>(lane * n);
#pragma unroll
  for (int w = 0; w < n; ++w) {
    int const vector = (w * 32 + lane) / n;
    S const column = static_cast<S>(__shfl_sync(whole_warp, first, vector) + static_cast<S>(by[w]));
    bool const is_entry = __shfl_sync(whole_warp, entries, vector) >> lane % n & 1;
    v[w] = is_entry ? v[w] * t.x_at(column) : V(0);
  }
#pragma unroll
  for (int w = 0; w < n; ++w)
    t.product[w * 32 + lane] = v[w];
  return __popc(groups);
}

/// Adds up a tile's pieces; their sums go to y or to the plan's `part`.
template <class V, class I, class O>
__device__ __forceinline__ void sum_pieces(V alpha, bicrs_plan<V, I, O> const& at, std::size_t tile,
                                           int pieces, int height_bits, std::uint16_t const* begin,
                                           V const* product, V beta, V* y) {
  int const lane = threadIdx.x % 32;
  int const height = 1 << height_bits;
  int const items = pieces << height_bits;
  int width = 1;
  while (width < 32 && items * width * 2 <= 32)
    width *= 2;
  O const* const target = at.target + (static_cast<std::size_t>(at.first[tile]) << height_bits);
  for (int i0 = 0; i0 < items; i0 += 32 / width) {
    int const i = i0 + lane / width;
    V sum = 0;
    if (i < items) {
      int const end = begin[(i >> height_bits) + 1];
      for (int k = begin[i >> height_bits] + i % height + lane % width * height; k < end;
           k += width * height)
        sum += product[k];
    }
    sum = reduce(sum, width);
    if (i >= items || lane % width != 0)
      continue;
    O const to = target[i];
    if (to >= 0)
      update(y + to, alpha, sum, beta);
    else if (to != bicrs_plan<V, I, O>::none)
      at.part[-1 - to] = sum;
  }
}

template <int n, class V, class I, class O, class D>
__global__ void __launch_bounds__(tile_warps * 32)
    bicrs_tiles_kernel(V alpha, increments<n, V, I, O, D> a, bicrs_plan<V, I, O> at, V const* x,
                       V beta, V* y) {
  using A = increments<n, V, I, O, D>;
  __shared__ V products[tile_warps][A::tile_slots];
  __shared__ std::uint16_t begins[tile_warps][A::tile_vectors + 1];
  wait_for_launch_before();
  std::size_t const tile = blockIdx.x * std::size_t{tile_warps} + threadIdx.x / 32;
  if (tile >= at.tiles)
    return;
  V* const product = products[threadIdx.x / 32];
  std::uint16_t* const begin = begins[threadIdx.x / 32];
  O const k0 = at.begin[tile];
  int const slots = static_cast<int>(at.begin[tile + 1] - k0);
  tile_part<A, V, I, D> const t{tile,         slots, a.col + k0, a.val + k0,
                                at.col[tile], x,     product,    begin};
  int pieces = 1; // the tile's first
  if constexpr (n == 1)
    pieces += multiply_entries(a, at, t);
  else
    pieces += multiply_vectors<n>(a, at, k0, t);
  if (threadIdx.x % 32 == 0) {
    begin[0] = 0;
    begin[pieces] = static_cast<std::uint16_t>(slots);
  }
  __syncwarp();
  sum_pieces(alpha, at, tile, pieces, a.height_bits, begin, product, beta, y);
}

/// `width` lanes per row; a row with far more pieces is added by the whole block.
template <int width, class V, class I, class O>
__global__ void __launch_bounds__(row_threads)
    join_pieces_kernel(V alpha, bicrs_plan<V, I, O> at, V beta, V* y) {
  constexpr O most = width * 64;
  __shared__ block_room<V> room;
  __shared__ std::size_t left[row_threads / width]; // in any order: no sum depends on it
  __shared__ int lefts;
  if (threadIdx.x == 0)
    lefts = 0;
  __syncthreads();
  wait_for_launch_before();
  std::size_t const q = (blockIdx.x * std::size_t{row_threads} + threadIdx.x) / width;
  int const lane = threadIdx.x % width;
  O const begin = q < at.joined ? at.joined_ptr[q] : O(0);
  O const end = q < at.joined ? at.joined_ptr[q + 1] : O(0);
  bool const is_left = end - begin > most;
  V sum = 0;
  if (!is_left)
    for (O k = begin + lane; k < end; k += width)
      sum += at.part[k];
  sum = reduce<width>(sum);
  if (q < at.joined && lane == 0) {
    if (is_left)
      left[atomicAdd(&lefts, 1)] = q;
    else
      update(y + at.joined_row[q], alpha, sum, beta);
  }
  __syncthreads();
  for (int n = 0; n < lefts; ++n) {
    V all = 0;
    for (O k = at.joined_ptr[left[n]] + static_cast<O>(threadIdx.x); k < at.joined_ptr[left[n] + 1];
         k += row_threads)
      all += at.part[k];
    all = block_reduce<row_threads>(all, room);
    if (threadIdx.x == 0)
      update(y + at.joined_row[left[n]], alpha, all, beta);
  }
}

template <int n, class V, class I, class O, class D>
void run_tiles(V alpha, increments<n, V, I, O, D> const& a, V const* x, V beta, V* y,
               plan_view const& p, void* stream) {
  carver work(p.work);
  bicrs_plan<V, I, O> const at(a, p, work);
  launch_early(bicrs_tiles_kernel<n, V, I, O, D>, ceil_div(at.tiles, std::size_t{tile_warps}),
               tile_warps * 32, stream, alpha, a, at, x, beta, y);
  if (at.joined == 0)
    return;
  with_width(width_for(p.info[2] / p.info[1]), [&]<int width>(std::integral_constant<int, width>) {
    launch_early(join_pieces_kernel<width, V, I, O>,
                 ceil_div(at.joined * width, std::size_t{row_threads}), row_threads, stream, alpha,
                 at, beta, y);
  });
}

} // namespace
} // namespace tulle::kernels::cuda
