// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y over compressed rows, whole rows at a time. Short rows are computed by
// blocks: a block has the rows that begin within `tile` entries, writes their products in order to
// shared memory, and the lanes, divided among the rows, add them up. Long rows of similar length
// are computed by groups of lanes.
#pragma once
#include "cuda/instantiate.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/primitive/warp.cuh"

namespace tulle::kernels::cuda {

/// Compressed rows. Entry k has value val[k], or val[perm[k]] if there is a perm.
template <class V, class I, class O>
struct lines {
  I rows;
  O nnz;
  O const* row_ptr;
  I const* col;
  V const* val;
  O const* perm;

  __device__ V value(O k) const { return perm ? val[perm[k]] : val[k]; }
};

namespace {

constexpr int row_threads = 256;
constexpr int tile = 2048; // a block's rows begin within this many entries
/// Half of that where values take twice the shared memory.
template <class V>
constexpr int tile_of = sizeof(V) <= 8 ? tile : tile / 2;
constexpr int longest = 128; // entries of a row of such a block

/// product[k] = value times x of entry k0 + k, k < n, with so many loads per thread in flight.
/// streamed: loads bypass the caches, and there is no perm.
template <int threads, bool streamed = false, int batch = 8, class V, class I, class O>
__device__ void multiply(lines<V, I, O> const& a, V const* x, O k0, int n, V* product) {
  for (int from = threadIdx.x; from < n; from += batch * threads) {
    V v[batch];
    I c[batch];
#pragma unroll
    for (int j = 0; j < batch; ++j) {
      int const k = from + j * threads;
      if constexpr (streamed) {
        c[j] = k < n ? __ldcs(a.col + k0 + k) : 0;
        v[j] = k < n ? load_streaming(a.val + k0 + k) : V(0);
      } else {
        c[j] = k < n ? a.col[k0 + k] : 0;
        v[j] = k < n ? a.value(k0 + k) : V(0);
      }
    }
#pragma unroll
    for (int j = 0; j < batch; ++j) {
      int const k = from + j * threads;
      if (k < n)
        product[k] = v[j] * x[c[j]];
    }
  }
}

template <int width, class V, class I, class O>
__global__ void groups_kernel(V alpha, lines<V, I, O> a, V const* x, V beta, V* y) {
  wait_for_launch_before();
  std::size_t const i = (blockIdx.x * std::size_t{row_threads} + threadIdx.x) / width;
  int const lane = threadIdx.x % width;
  V sum = 0;
  if (i < static_cast<std::size_t>(a.rows)) {
    O const end = a.row_ptr[i + 1];
    for (O k = a.row_ptr[i] + lane; k < end; k += width)
      sum = fma(a.value(k), x[a.col[k]], sum);
  }
  sum = reduce<width>(sum);
  if (i < static_cast<std::size_t>(a.rows) && lane == 0)
    update(y + i, alpha, sum, beta);
}

/// first[b]: the first row that begins with entry b * step or a later one; all rows for the last b.
template <class I, class O>
__global__ void first_rows_kernel(I rows, O const* row_ptr, I* first, std::size_t blocks,
                                  std::size_t step) {
  std::size_t const b = blockIdx.x * std::size_t{row_threads} + threadIdx.x;
  if (b <= blocks)
    first[b] = b == blocks ? rows : lower_bound(row_ptr, rows, static_cast<O>(b * step));
}

/// Adds nothing to the products of a block. Types that do add something determine how much while
/// the block searches for its rows, prefetch it into the given room before the block multiplies,
/// and add it when all products are written; then all threads wait. The remainder is added to y.
struct nothing_more {
  static constexpr int room = 0;
  __device__ void look() {}
  template <class V>
  __device__ void ask(V const*, V*) {}
  __device__ bool is_any() const { return false; }
  template <class V, class I, class O>
  __device__ void add(V const*, V*, O, int, I, I, V*) const {}
  template <class V, class I>
  __device__ void finish(V, V const*, V*, I, I) const {}
};

template <class V, class I, class O, class More>
__device__ void multiply_rows(V alpha, lines<V, I, O> const& a, V const* x, V beta, V* y,
                              I const* first_row, More more) {
  __shared__ V product[tile_of<V> + longest + More::room];
  V* const room = product + tile_of<V> + longest;
  more.look();
  I const first = first_row[blockIdx.x];
  I const last = first_row[blockIdx.x + 1];
  if (first == last)
    return;
  O const k0 = a.row_ptr[first];
  int const n = static_cast<int>(a.row_ptr[last] - k0);
  more.ask(x, room);
  multiply<row_threads>(a, x, k0, n, product);
  __syncthreads();
  if (more.is_any())
    more.add(x, room, k0, n, first, last, product);
  int width = 1;
  while (width < 32 && static_cast<std::size_t>(last - first) * width * 2 <= row_threads)
    width *= 2;
  int const lane = threadIdx.x % width;
  // All threads make the same number of iterations, for the shuffles.
  for (std::size_t r = 0; r < static_cast<std::size_t>(last - first); r += row_threads / width) {
    std::size_t const i = static_cast<std::size_t>(first) + r + threadIdx.x / width;
    V sum = 0;
    if (i < static_cast<std::size_t>(last)) {
      int const stop = static_cast<int>(a.row_ptr[i + 1] - k0);
      for (int k = static_cast<int>(a.row_ptr[i] - k0) + lane; k < stop; k += width)
        sum += product[k];
    }
    sum = reduce(sum, width);
    if (i < static_cast<std::size_t>(last) && lane == 0)
      update(y + i, alpha, sum, beta);
  }
  more.finish(alpha, x, y, first, last);
}

template <class V, class I, class O>
__global__ void __launch_bounds__(row_threads)
    blocks_kernel(V alpha, lines<V, I, O> a, V const* x, V beta, V* y, I const* first_row) {
  wait_for_launch_before();
  multiply_rows(alpha, a, x, beta, y, first_row, nothing_more());
}

} // namespace
} // namespace tulle::kernels::cuda
