// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in bcsr. Neighbouring lanes read a block's values side by side, and a
// lane keeps its place in the block, so lanes are added up once per block row. Blocks of 3 x 3 take
// nine lanes: a warp computes three at a time. A warp goes through the blocks of several block rows
// without a break; long block rows take one thread block each. Blocks of 1 x 1 are csr, and use its
// kernels.
//
// A hole is multiplied like an entry; a row whose sum is NaN is computed again from the entries
// alone. The matrix alone decides the order of additions.
//
// Bytes that must move, double with 32-bit indices: 76 per block of 3 x 3, where csr has 108.
#include "tulle/format/bcsr.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"
#include "cuda/spmv/bcsr_symmetric.cuh"
#include "cuda/spmv/compressed.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = bcsr_view<V, I, O, space::cuda>;

// Times the bound of csr on an H200, fem 500000 in double: 4 steps per lane in flight, and the next
// 4 while x is loaded, 1.16; 6 steps and none while x is loaded 1.11, 8 with 3 blocks per
// multiprocessor 1.02. Block rows side by side in a warp, one to nine lanes, 1.13; one block row
// per warp 0.98. One or two large thread blocks per multiprocessor, each with neighbouring block
// rows, to keep x in the first-level cache: 1.10. Values prefetched into the second-level cache:
// 0.99 and less. The bottleneck is x from the second-level cache, 160 MB in addition to 270 MB of
// blocks. Tiles of 8 to 64 block rows staged in shared memory, one thread per row: 0.90. A ring of
// x in shared memory, with tiles staged ahead: 0.31, with values directly from memory: 0.94, since
// few threads fit.
constexpr int threads = 256;
constexpr int per_multiprocessor = 4;
constexpr int steps = 4;
constexpr int rows_together(int height) {
  return height == 3 ? 10 : height == 2 ? 8 : 32 / height;
}
// A block row of more slots than this takes a thread block. Dense 2048 in double: 8 x 8 with 512
// threads 1.51, with 256 1.23; 4 x 4 with 512 1.29, with 256 1.68.
constexpr std::int64_t most_slots = 4096;
constexpr int team_threads(int height) {
  return height >= 6 ? 512 : 256;
}
constexpr int team_steps = 8;

template <class V, class I, class O>
struct product {
  view<V, I, O> a;
  V alpha, beta;
  V const* x;
  V* y;
};

/// How the lanes of a warp map to blocks of H x W.
template <int H, int W, class V>
struct shape {
  static constexpr int vec = W % 4 == 0 && sizeof(V) == 4 ? 4 : W % 2 == 0 ? 2 : 1; // a lane
  static constexpr int lanes = H * W / vec;                                         // a block
  static constexpr int at_once = 32 / lanes;                                        // blocks
};

/// The sum over n lanes: lane, lane + stride, ...; in the first one.
template <int n, int stride, class V>
__device__ V sum_lanes(V v) {
  V sum = v;
  if constexpr ((n & (n - 1)) == 0) {
#pragma unroll
    for (int d = n / 2; d > 0; d /= 2)
      sum += __shfl_down_sync(whole_warp, sum, d * stride);
  } else {
#pragma unroll
    for (int d = 1; d < n; ++d)
      sum += __shfl_down_sync(whole_warp, v, d * stride);
  }
  return sum;
}

/// The sum of row r of block row i from its entries alone, in every lane.
template <class V, class I, class O>
__device__ __noinline__ V exact_row(product<V, I, O> const& c, std::int64_t i, int r) {
  int const w = c.a.width;
  V sum = 0;
  for (std::int64_t k = c.a.block_ptr[i] + std::int64_t{threadIdx.x % 32}; k < c.a.block_ptr[i + 1];
       k += 32)
    for (int j = 0; j < w; ++j) {
      std::int64_t const s = (k * c.a.height + r) * w + j;
      if (c.a.pattern[s / 64] >> s % 64 & 1)
        sum = fma(c.a.val[s], c.x[std::int64_t{c.a.block_col[k]} * w + j], sum);
    }
  return reduce<32>(sum);
}

/// Sets y of row r of block row i if `is_row`; by all lanes.
template <class V, class I, class O>
__device__ void finish(product<V, I, O> const& c, bool is_row, std::int64_t i, int r, V sum) {
  std::int64_t const row = i * c.a.height + r;
  is_row = is_row && row < c.a.rows;
  if (c.a.pattern)
    for (unsigned left = __ballot_sync(whole_warp, is_row && sum != sum); left != 0;
         left &= left - 1) {
      int const from = __ffs(left) - 1;
      V const exact =
          exact_row(c, __shfl_sync(whole_warp, i, from), __shfl_sync(whole_warp, r, from));
      if (static_cast<int>(threadIdx.x % 32) == from)
        sum = exact;
    }
  if (is_row)
    update(c.y + row, c.alpha, sum, c.beta);
}

/// The lane's sum over blocks k, k + step, ...: `vec` slots of each from `slot` on; blocks have
/// `size` slots and width w.
template <int vec, int unroll, class V, class I, class O>
__device__ V sum_blocks(product<V, I, O> const& c, O k, O end, int step, int slot, int size,
                        int w) {
  using U = std::make_unsigned_t<I>;
  struct alignas(vec * sizeof(V)) pack {
    V at[vec];
  };
  U const column = static_cast<U>(slot % w);
  U const last = static_cast<U>(c.a.cols - 1);
  V const* val = c.a.val + slot;
  V sum = 0;
  for (; k < end; k += unroll * step) {
    I col[unroll];
    pack v[unroll];
    V x[unroll][vec];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      O const b = k + u * step;
      col[u] = b < end ? __ldcs(c.a.block_col + b) : 0;
      v[u] = b < end ? *reinterpret_cast<pack const*>(val + static_cast<std::int64_t>(b) * size)
                     : pack{};
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u)
#pragma unroll
      for (int e = 0; e < vec; ++e) {
        U const j = static_cast<U>(col[u]) * static_cast<U>(w) + column + U(e);
        x[u][e] = k + u * step < end ? __ldg(c.x + (j < last ? j : last)) : V(0);
      }
#pragma unroll
    for (int u = 0; u < unroll; ++u)
#pragma unroll
      for (int e = 0; e < vec; ++e)
        sum = fma(v[u].at[e], x[u][e], sum);
  }
  return sum;
}

/// Loads what is read once and need not stay in the first-level cache.
template <class T>
__device__ T load_once(T const* from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
  union {
    T to;
    unsigned narrow;
    unsigned long long wide[sizeof(T) == 16 ? 2 : 1];
  };
  if constexpr (sizeof(T) == 4)
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(narrow) : "l"(from));
  else if constexpr (sizeof(T) == 8)
    asm("ld.global.nc.L1::no_allocate.u64 %0, [%1];" : "=l"(wide[0]) : "l"(from));
  else
    asm("ld.global.nc.L1::no_allocate.v2.u64 {%0, %1}, [%2];"
        : "=l"(wide[0]), "=l"(wide[1])
        : "l"(from));
  return to;
}

/// A warp has rows_together(H) block rows. A lane that gets to the next one stores its sum in
/// shared memory.
template <int H, int W, class V, class I, class O>
__global__ void __launch_bounds__(threads, per_multiprocessor)
    rows_kernel(__grid_constant__ product<V, I, O> const c) {
  using S = shape<H, W, V>;
  using U = std::make_unsigned_t<I>; // a block may extend past the last column
  constexpr int R = rows_together(H), vec = S::vec, step = S::at_once;
  static_assert(R * H <= 32 && R < 32);
  struct alignas(vec * sizeof(V)) pack {
    V at[vec];
  };
  __shared__ V parts[threads / 32][R][33]; // 33, so that rows are in different banks
  __shared__ O ends_of_rows[threads / 32][R];
  wait_for_launch_before();
  int const lane = threadIdx.x % 32;
  auto& part = parts[threadIdx.x / 32];
  auto& ends = ends_of_rows[threadIdx.x / 32];
  std::int64_t const block_rows = (std::int64_t{c.a.rows} + H - 1) / H;
  std::int64_t const first = (blockIdx.x * std::int64_t{threads / 32} + threadIdx.x / 32) * R;
  if (first >= block_rows)
    return;
  int const n = static_cast<int>(block_rows - first < R ? block_rows - first : R);
  O const ptr = lane <= n ? c.a.block_ptr[first + lane] : 0;
  if (lane > 0 && lane <= n)
    ends[lane - 1] = ptr;
  O const end = __shfl_sync(whole_warp, ptr, n);
  O k = __shfl_sync(whole_warp, ptr, 0) + lane / S::lanes;
  if (lane / S::lanes >= step)
    k = end; // a lane without a block
  __syncwarp();
  int const slot = lane % S::lanes * vec;
  U const column = static_cast<U>(slot % W);
  U const last = static_cast<U>(c.a.cols - 1);
  V const* const val = c.a.val + slot;
  I col[steps];
  pack v[steps];
  auto const load = [&](O from) {
#pragma unroll
    for (int u = 0; u < steps; ++u) {
      O const b = from + u * step;
      col[u] = b < end ? load_once(c.a.block_col + b) : 0;
      v[u] = b < end ? load_once(reinterpret_cast<pack const*>(val + static_cast<std::int64_t>(b) *
                                                                         (H * W)))
                     : pack{};
    }
  };
  V sum = 0;
  int row = 0;
  O next = ends[0];
  load(k);
  for (; k < end; k += steps * step) {
    V x[steps][vec];
    pack now[steps];
#pragma unroll
    for (int u = 0; u < steps; ++u) {
      now[u] = v[u];
#pragma unroll
      for (int e = 0; e < vec; ++e) {
        U const j = static_cast<U>(col[u]) * U(W) + column + U(e);
        x[u][e] = k + u * step < end ? __ldg(c.x + (j < last ? j : last)) : V(0);
      }
    }
    load(k + steps * step);
#pragma unroll
    for (int u = 0; u < steps; ++u) {
      while (k + u * step >= next && row + 1 < n) {
        part[row][lane] = sum;
        sum = 0;
        next = ends[++row];
      }
#pragma unroll
      for (int e = 0; e < vec; ++e)
        sum = fma(now[u].at[e], x[u][e], sum);
    }
  }
  for (; row < n; ++row) {
    part[row][lane] = sum;
    sum = 0;
  }
  __syncwarp();
  int const r = lane % H;
  if (lane < n * H)
#pragma unroll
    for (int b = 0; b < step; ++b)
#pragma unroll
      for (int j = 0; j < W / vec; ++j)
        sum += part[lane / H][b * S::lanes + r * (W / vec) + j];
  finish(c, lane < n * H, first + lane / H, r, sum);
}

/// A thread block has one block row.
template <int H, int W, class V, class I, class O>
__global__ void __launch_bounds__(team_threads(H))
    team_kernel(__grid_constant__ product<V, I, O> const c) {
  using S = shape<H, W, V>;
  constexpr int warps = team_threads(H) / 32;
  __shared__ V part[warps][H];
  wait_for_launch_before();
  int const lane = threadIdx.x % 32;
  int const warp = threadIdx.x / 32;
  int const unit = lane / S::lanes;
  int const slot = lane % S::lanes * S::vec;
  std::int64_t const i = blockIdx.x;
  V sum = 0;
  if (unit < S::at_once)
    sum = sum_blocks<S::vec, team_steps>(
        c, static_cast<O>(c.a.block_ptr[i] + warp * S::at_once + unit), c.a.block_ptr[i + 1],
        S::at_once * warps, slot, H * W, W);
  sum = sum_lanes<W / S::vec, 1>(sum);
  sum = sum_lanes<S::at_once, S::lanes>(sum);
  if (unit == 0 && slot % W == 0)
    part[warp][slot / W] = sum;
  __syncthreads();
  if (warp != 0)
    return;
  sum = 0;
  if (lane < H)
    for (int w = 0; w < warps; ++w)
      sum += part[w][lane];
  finish(c, lane < H, i, lane, sum);
}

/// Any shape, and unaligned values: `team` warps, one or all of a thread block, have one block row.
template <class V, class I, class O>
__global__ void __launch_bounds__(threads)
    any_kernel(__grid_constant__ product<V, I, O> const c, int team) {
  __shared__ V part[threads / 32][64];
  int const lane = threadIdx.x % 32;
  int const warp = threadIdx.x / 32;
  int const h = c.a.height, w = c.a.width;
  int const size = h * w;
  int const at_once = size < 32 ? 32 / size : 1;
  std::int64_t const i = (blockIdx.x * std::int64_t{threads / 32} + warp) / team;
  bool const is_on = i * h < c.a.rows;
  // Slot `lane % size` of every at_once-th block, and slot `lane + 32` if a block has more than 32.
  for (int half = 0; half < 2; ++half) {
    int const at = lane + 32 * half;
    int const slot = size < 32 ? at % size : at;
    V sum = 0;
    if (is_on && (size < 32 ? at < at_once * size : slot < size))
      sum = sum_blocks<1, steps>(
          c, static_cast<O>(c.a.block_ptr[i] + warp % team * at_once + (size < 32 ? at / size : 0)),
          c.a.block_ptr[i + 1], at_once * team, slot, size, w);
    part[warp][at] = sum;
  }
  if (team == 1)
    __syncwarp();
  else
    __syncthreads();
  if (warp % team != 0)
    return;
  V sum = 0;
  if (lane < h)
    for (int t = warp; t < warp + team; ++t)
      for (int b = 0; b < at_once; ++b)
        for (int j = 0; j < w; ++j)
          sum += part[t][b * size + lane * w + j];
  finish(c, is_on && lane < h, i, lane, sum);
}

template <class V, class I, class O>
bool is_csr(view<V, I, O> const& a) {
  return a.height == 1 && a.width == 1 && !a.pattern;
}

template <class V, class I, class O>
std::size_t block_rows(view<V, I, O> const& a) {
  return ceil_div(static_cast<std::size_t>(a.rows), static_cast<std::size_t>(a.height));
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (a.symmetric) {
    p.method = "symmetric block rows";
    carver work;
    mirror(work, static_cast<I>(a.block_rows()), a.blocks);
    return work.used();
  }
  if (p.transposed)
    refuse("bcsr", "transposed products have no kernel; those of csr and csc do");
  if (is_csr(a)) {
    carver work;
    reserve_lines<V>(a.rows, a.blocks, work);
    return work.used();
  }
  std::size_t const n = block_rows(a);
  std::int64_t const average = n == 0 ? 0 : a.blocks / static_cast<std::int64_t>(n);
  p.info[0] = average * a.height * a.width >= most_slots;
  p.method = p.info[0] ? "long block rows" : "block rows";
  return 0;
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view& p) {
  carver work(p.work);
  if (a.symmetric)
    return mirror(work, static_cast<I>(a.block_rows()), a.blocks)
        .fill(static_cast<I>(a.block_rows()), a.blocks, a.block_ptr, a.block_col, p.stream);
  if (!is_csr(a))
    return;
  fill_lines<V>(a.rows, a.blocks, a.block_ptr, p, work);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  carver work(p.work);
  if (a.symmetric)
    return launch(symmetric_kernel<V, I, O>,
                  ceil_div(static_cast<std::size_t>(a.rows) * symmetric_lanes,
                           std::size_t{symmetric_threads}),
                  symmetric_threads, stream, alpha, a,
                  mirror(work, static_cast<I>(a.block_rows()), a.blocks), x, beta, y);
  if (is_csr(a)) {
    return run_lines<V, I, O>(alpha, {a.rows, a.blocks, a.block_ptr, a.block_col, a.val, nullptr},
                              x, beta, y, p, work, stream);
  }
  product<V, I, O> const c{a, alpha, beta, x, y};
  std::size_t const n = block_rows(a);
  bool const in_teams = p.info[0] != 0;
  auto const go = [&]<int side>(std::integral_constant<int, side>) {
    if (in_teams)
      launch_early(team_kernel<side, side, V, I, O>, n, team_threads(side), stream, c);
    else
      launch_early(rows_kernel<side, side, V, I, O>,
                   ceil_div(n, std::size_t{rows_together(side) * threads / 32}), threads, stream,
                   c);
  };
  bool const is_aligned = reinterpret_cast<std::uintptr_t>(a.val) % 16 == 0;
  if (a.height == a.width && is_aligned)
    switch (a.height) {
    case 2:
      return go(std::integral_constant<int, 2>());
    case 3:
      return go(std::integral_constant<int, 3>());
    case 4:
      return go(std::integral_constant<int, 4>());
    case 6:
      return go(std::integral_constant<int, 6>());
    case 8:
      return go(std::integral_constant<int, 8>());
    }
  constexpr int warps = threads / 32;
  launch(any_kernel<V, I, O>, in_teams ? n : ceil_div(n, std::size_t{warps}), threads, stream, c,
         in_teams ? warps : 1);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(bcsr)

} // namespace tulle::kernels::cuda
