// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y over blocks in the order of their block rows: bcoo, bccoo.
//
// Yan et al., PPoPP 2014, use a segmented scan over blocks; here sums take two steps. A thread
// block has a tile of blocks: it writes the products of their slots in order to shared memory,
// finds where block rows begin, and the lanes, divided among the rows, add up the products. A block
// row that tiles share leaves its sums in `tail` of the tile where it begins and in `head` of those
// that it goes on in, and a second launch adds these in order. So the bits depend on the matrix
// alone.
//
// A hole is multiplied like an entry; a row whose sum is NaN is computed again from the entries
// alone. Where block rows are empty, y is scaled first.
#pragma once
#include "cuda/instantiate.cuh"
#include "cuda/primitive/block.cuh"
#include "cuda/scale.cuh"
#include "cuda/workspace.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr int run_threads = 256;
constexpr int run_slots = 2048; // of a tile, at most
constexpr int run_batch = 8;    // slots per thread in flight

/// Blocks and operands. Rows names block rows: of(k) is that of block k, ends(k) says whether k is
/// its last block.
template <class Rows, class V, class I, class O>
struct run_product {
  I rows, cols;
  int height, width;
  O blocks;
  I const* col;
  V const* val;
  std::uint64_t const* pattern;
  V alpha, beta;
  V const* x;
  V* y;
  Rows named;
  V *head, *tail; // height sums per tile
  int per_tile;   // blocks of a tile

  std::int64_t tiles() const { return ceil_div<std::int64_t>(blocks, per_tile); }
};

/// Divides slot numbers by the size and width of a block: known to the compiler if side is not 0,
/// otherwise by multiplication with fractions of 2^20 and 2^10, exact below 2048 slots and sizes of
/// 64.
template <int side>
struct run_shape {
  int h, w, size;
  unsigned by_size, by_width;
  __device__ run_shape(int height, int width)
      : h(side ? side : height), w(side ? side : width), size(h * w),
        by_size(((1u << 20) + size - 1) / size), by_width(((1u << 10) + w - 1) / w) {}
  __device__ int block(int s) const {
    return side ? s / (side * side) : static_cast<int>(s * by_size >> 20);
  }
  __device__ int column(int slot) const {
    return side ? slot % side : slot - static_cast<int>(slot * by_width >> 10) * w;
  }
};

/// Row r of block k times x, entries alone.
template <class P, class O>
__device__ auto exact_row(P const& c, O k, int r) {
  std::remove_cvref_t<decltype(*c.y)> sum = 0;
  for (int j = 0; j < c.width; ++j) {
    std::int64_t const s = (static_cast<std::int64_t>(k) * c.height + r) * c.width + j;
    if (c.pattern[s / 64] >> s % 64 & 1)
      sum = fma(c.val[s], c.x[std::int64_t{c.col[k]} * c.width + j], sum);
  }
  return sum;
}

template <int side, class Rows, class V, class I, class O>
__global__ void __launch_bounds__(run_threads)
    runs_kernel(__grid_constant__ run_product<Rows, V, I, O> const c) {
  using U = std::make_unsigned_t<I>; // a block may extend past the last column
  __shared__ V product[run_slots];
  __shared__ int begins[run_slots + 1];
  __shared__ block_room<int> room;
  __shared__ int count;
  wait_for_launch_before();
  run_shape<side> const shape(c.height, c.width);
  int const h = shape.h, w = shape.w, size = shape.size;
  O const k0 = static_cast<O>(blockIdx.x * std::int64_t{c.per_tile});
  int const n = c.blocks - k0 < c.per_tile ? static_cast<int>(c.blocks - k0) : c.per_tile;
  V const* const val = c.val + static_cast<std::int64_t>(k0) * size;
  U const last = static_cast<U>(c.cols - 1);
  for (int from = threadIdx.x; from < n * size; from += run_batch * run_threads) {
    V v[run_batch];
    U j[run_batch];
#pragma unroll
    for (int u = 0; u < run_batch; ++u) {
      int const s = from + u * run_threads;
      bool const is_there = s < n * size;
      int const b = is_there ? shape.block(s) : 0;
      v[u] = is_there ? __ldcs(val + s) : V(0);
      j[u] = static_cast<U>(c.col[k0 + b]) * U(w) + U(shape.column(s - b * size));
    }
#pragma unroll
    for (int u = 0; u < run_batch; ++u) {
      int const s = from + u * run_threads;
      if (s < n * size)
        product[s] = v[u] * __ldg(c.x + (j[u] < last ? j[u] : last));
    }
  }

  // Where block rows begin; the first one may have begun before.
  int const items = (n + run_threads - 1) / run_threads;
  unsigned marks = 0;
  for (int i = 0; i < items; ++i) {
    int const b = threadIdx.x * items + i;
    if (b < n && (b == 0 || c.named.ends(k0 + b - 1)))
      marks |= 1u << i;
  }
  int at = block_exclusive_scan<run_threads>(__popc(marks), room);
  for (; marks != 0; marks &= marks - 1)
    begins[at++] = threadIdx.x * items + __ffs(marks) - 1;
  if (threadIdx.x == run_threads - 1) {
    begins[at] = n;
    count = at;
  }
  __syncthreads();
  int const runs = count;
  bool const goes_back = k0 > 0 && !c.named.ends(k0 - 1);
  bool const goes_on = !c.named.ends(k0 + n - 1);
  int width = 1;
  while (width < 32 && runs * h * width * 2 <= run_threads)
    width *= 2;
  int const lane = threadIdx.x % width;
  // All threads make the same number of iterations, for the shuffles.
  for (int first = 0; first < runs * h; first += run_threads / width) {
    int const number = first + threadIdx.x / width;
    bool const is_on = number < runs * h;
    int const run = is_on ? number / h : 0;
    int const r = number - run * h;
    V sum = 0;
    if (is_on)
      for (int b = begins[run] + lane; b < begins[run + 1]; b += width)
        for (int j = 0; j < w; ++j)
          sum += product[b * size + r * w + j];
    sum = reduce(sum, width);
    if (!is_on || lane != 0)
      continue;
    if (run == 0 && goes_back) {
      c.head[blockIdx.x * std::int64_t{h} + r] = sum;
      continue;
    }
    if (run == runs - 1 && goes_on) {
      c.tail[blockIdx.x * std::int64_t{h} + r] = sum;
      continue;
    }
    std::int64_t const row = std::int64_t{c.named.of(k0 + begins[run])} * h + r;
    if (row >= c.rows)
      continue;
    if (c.pattern && sum != sum) {
      sum = 0;
      for (int b = begins[run]; b < begins[run + 1]; ++b)
        sum += exact_row(c, k0 + b, r);
    }
    update(c.y + row, c.alpha, sum, c.beta);
  }
}

/// One warp per tile: it has work only if a block row begins in the tile and continues in others.
template <class Rows, class V, class I, class O>
__global__ void __launch_bounds__(run_threads)
    join_runs_kernel(__grid_constant__ run_product<Rows, V, I, O> const c, std::int64_t tiles) {
  wait_for_launch_before();
  int const lane = threadIdx.x % 32;
  std::int64_t const t = (blockIdx.x * std::int64_t{run_threads} + threadIdx.x) / 32;
  if (t + 1 >= tiles)
    return;
  O const begin = static_cast<O>(t * c.per_tile);
  O const end = begin + c.per_tile;
  if (c.named.ends(end - 1))
    return;
  I const row = c.named.of(end - 1);
  if (begin > 0 && !c.named.ends(begin - 1) && c.named.of(begin) == row)
    return;
  for (int r = 0; r < c.height; ++r) {
    V sum = 0;
    for (std::int64_t u = t + 1 + lane;
         u < tiles && c.named.of(static_cast<O>(u * c.per_tile)) == row; u += 32)
      sum += c.head[u * c.height + r];
    sum = c.tail[t * c.height + r] + reduce<32>(sum);
    if (c.pattern && sum != sum) {
      O k = end - 1;
      while (k > 0 && !c.named.ends(k - 1))
        --k;
      sum = 0;
      for (k += lane; k < c.blocks && c.named.of(k) == row; k += 32)
        sum += exact_row(c, k, r);
      sum = reduce<32>(sum);
    }
    std::int64_t const i = std::int64_t{row} * c.height + r;
    if (lane == 0 && i < c.rows)
      update(c.y + i, c.alpha, sum, c.beta);
  }
}

template <class View>
int blocks_of_tile(View const& a) {
  return run_slots / (a.height * a.width);
}
template <class View>
std::size_t prepare_runs(View const& a, char const* name, plan_view& p) {
  if (p.transposed)
    refuse(name, "transposed products have no kernel; those of csr and csc do");
  p.method = a.height == 1 && a.width == 1 ? "tiles" : "tiles of blocks";
  auto const tiles = static_cast<std::size_t>(ceil_div<std::int64_t>(a.blocks, blocks_of_tile(a)));
  return 2 * tiles * static_cast<std::size_t>(a.height) * sizeof(typename View::value);
}

template <class V, class I, class O, class View, class Rows>
void multiply_runs(V alpha, View const& a, Rows const& rows, bool has_empty, V const* x, V beta,
                   V* y, plan_view const& p, void* stream) {
  if (has_empty)
    scale(beta, y, static_cast<std::size_t>(a.rows), stream);
  run_product<Rows, V, I, O> c{a.rows,   a.cols,
                               a.height, a.width,
                               a.blocks, a.block_col,
                               a.val,    a.pattern,
                               alpha,    has_empty ? V(1) : beta,
                               x,        y,
                               rows,     static_cast<V*>(p.work),
                               nullptr,  blocks_of_tile(a)};
  std::int64_t const tiles = c.tiles();
  c.tail = c.head + tiles * a.height;
  auto const n = static_cast<std::size_t>(tiles);
  auto const go = [&]<int side>(std::integral_constant<int, side>) {
    launch_early(runs_kernel<side, Rows, V, I, O>, n, run_threads, stream, c);
  };
  if (a.height == 1 && a.width == 1)
    go(std::integral_constant<int, 1>());
  else if (a.height == 3 && a.width == 3)
    go(std::integral_constant<int, 3>());
  else
    go(std::integral_constant<int, 0>());
  if (tiles > 1)
    launch_early(join_runs_kernel<Rows, V, I, O>, ceil_div(n, std::size_t{run_threads / 32}),
                 run_threads, stream, c, tiles);
}

} // namespace
} // namespace tulle::kernels::cuda
