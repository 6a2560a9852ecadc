// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in bcsr: lanes side by side read a block's values side by side, and a
// lane keeps its place in the block, so the lanes of a row are added once, at the end of a block
// row. Blocks of 3 x 3 take nine lanes, so a warp has three of them at work.
//
// A block row is summed by 1 to 32 lanes' worth of blocks at once (`share`), by a whole thread
// block where it is long, in an order that the matrix alone decides. A hole is multiplied like an
// entry; a row whose sum is NaN is taken again from the entries alone.
#include "tulle/format/bcsr.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"

#include <cstdlib>

namespace tulle::simt {
namespace {

template <class V, class I, class O>
using view = bcsr_view<V, I, O, space::device>;

constexpr int threads = 256;

template <class V, class I, class O>
struct product {
  view<V, I, O> a;
  V alpha, beta;
  V const* x;
  V* y;
};

/// How a warp lies on blocks of H x W.
template <int H, int W, class V>
struct shape {
  static constexpr int vec = W % 4 == 0 && sizeof(V) == 4 ? 4 : W % 2 == 0 ? 2 : 1; // a lane
  static constexpr int lanes = H * W / vec;                                         // a block
  static constexpr int at_once = 32 / lanes;                                        // blocks
};

/// The sum of lanes lane, lane + stride, ...: n of them, in the first.
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

/// Row r of block row i from its entries alone, in every lane.
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

/// y of row r of block row i where `is_row`; by all lanes.
template <class V, class I, class O>
__device__ void finish(product<V, I, O> const& c, bool is_row, std::int64_t i, int r, V sum) {
  std::int64_t const row = i * c.a.height + r;
  is_row = is_row && row < c.a.rows;
  if (c.a.pattern)
    for (unsigned left = __ballot_sync(whole_warp, is_row && sum != sum); left != 0;
         left &= left - 1) {
      int const from = __ffs(left) - 1;
      V const exact = exact_row(c, __shfl_sync(whole_warp, i, from), __shfl_sync(whole_warp, r, from));
      if (static_cast<int>(threadIdx.x % 32) == from)
        sum = exact;
    }
  if (is_row)
    update(c.y + row, c.alpha, sum, c.beta);
}

/// The lane's part of blocks k, k + step, ...: `vec` slots of each from `slot` on, blocks of `size`
/// slots and width w.
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

template <class T>
__device__ T load_once(T const* from) {
  T to;
  if constexpr (sizeof(T) == 4) {
    unsigned a;
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(a) : "l"(from));
    memcpy(&to, &a, 4);
  } else if constexpr (sizeof(T) == 8) {
    unsigned long long a;
    asm("ld.global.nc.L1::no_allocate.u64 %0, [%1];" : "=l"(a) : "l"(from));
    memcpy(&to, &a, 8);
  } else {
    unsigned long long a[2];
    asm("ld.global.nc.L1::no_allocate.v2.u64 {%0, %1}, [%2];" : "=l"(a[0]), "=l"(a[1]) : "l"(from));
    memcpy(&to, a, 16);
  }
  return to;
}

/// Block rows that a warp goes through without a stop in between.
constexpr int rows_together(int height) {
  return height <= 2 ? 8 : height == 3 ? 5 : 32 / height;
}

/// A lane that comes to the next block row puts its sum aside. A thread block has the groups of
/// block rows from start[its number] on, neighbours one after the other, so that x stays in the
/// first-level cache.
template <int H, int W, int TH, int per_sm, int unroll, bool ahead, class V, class I, class O>
__global__ void __launch_bounds__(TH, per_sm)
    stream_kernel(__grid_constant__ product<V, I, O> const c, I const* start, int per) {
  using S = shape<H, W, V>;
  using U = std::make_unsigned_t<I>; // a block may end a little beyond the last column
  constexpr int R = rows_together(H), vec = S::vec, step = S::at_once;
  struct alignas(vec * sizeof(V)) pack {
    V at[vec];
  };
  __shared__ V parts[TH / 32][R][32];
  __shared__ O ends_of_rows[TH / 32][R];
  int const lane = threadIdx.x % 32;
  auto& part = parts[threadIdx.x / 32];
  auto& ends = ends_of_rows[threadIdx.x / 32];
  std::int64_t const block_rows = (std::int64_t{c.a.rows} + H - 1) / H;
  int const slot = lane % S::lanes * vec;
  U const column = static_cast<U>(slot % W);
  U const last = static_cast<U>(c.a.cols - 1);
  V const* const val = c.a.val + slot;
  int const share = static_cast<int>(blockIdx.x) % (gridDim.x / per) * per +
                    static_cast<int>(blockIdx.x) / (gridDim.x / per);
  I const stop = start[share + 1];
  for (std::int64_t group = start[share] + std::int64_t{threadIdx.x / 32}; group < stop;
       group += TH / 32) {
    std::int64_t const first = group * R;
    int const n = static_cast<int>(block_rows - first < R ? block_rows - first : R);
    O const ptr = lane <= n ? c.a.block_ptr[first + lane] : 0;
    if (lane > 0 && lane <= n)
      ends[lane - 1] = ptr;
    O const end = __shfl_sync(whole_warp, ptr, n);
    O k = __shfl_sync(whole_warp, ptr, 0) + lane / S::lanes;
    if (lane / S::lanes >= step)
      k = end; // a lane too many
    __syncwarp();
    I col[unroll];
    pack v[unroll];
    auto const load = [&](O from) {
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        O const b = from + u * step;
        col[u] = b < end ? load_once(c.a.block_col + b) : 0;
        v[u] = b < end ? load_once(reinterpret_cast<pack const*>(
                             val + static_cast<std::int64_t>(b) * (H * W)))
                       : pack{};
      }
    };
    V sum = 0;
    int row = 0;
    O next = ends[0];
    if (ahead)
      load(k);
    for (; k < end; k += unroll * step) {
      if (!ahead)
        load(k);
      V x[unroll][vec];
      pack now[unroll];
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        now[u] = v[u];
#pragma unroll
        for (int e = 0; e < vec; ++e) {
          U const j = static_cast<U>(col[u]) * U(W) + column + U(e);
          x[u][e] = k + u * step < end ? __ldg(c.x + (j < last ? j : last)) : V(0);
        }
      }
      if (ahead)
        load(k + unroll * step);
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
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
    __syncwarp();
  }
}

/// start[s], s from 0 to `shares`: the first group of share s, such that all have about as many
/// blocks and block rows.
template <class I, class O>
__global__ void start_kernel(I* start, int shares, O const* block_ptr, I block_rows, int together) {
  int const s = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (s > shares)
    return;
  I const groups = (block_rows - 1) / together + 1;
  std::int64_t const all = std::int64_t{block_ptr[block_rows]} + block_rows;
  std::int64_t const wanted = all / shares * s;
  I lo = 0;
  for (I hi = groups; lo < hi;) {
    I const mid = lo + (hi - lo) / 2;
    if (std::int64_t{block_ptr[mid * together]} + mid * together < wanted)
      lo = mid + 1;
    else
      hi = mid;
  }
  start[s] = s == shares ? groups : lo;
}

/// A thread block has one block row.
template <int H, int W, int unroll, int team_threads, class V, class I, class O>
__global__ void __launch_bounds__(team_threads)
    team_kernel(__grid_constant__ product<V, I, O> const c) {
  using S = shape<H, W, V>;
  constexpr int warps = team_threads / 32;
  __shared__ V part[warps][H];
  int const lane = threadIdx.x % 32;
  int const warp = threadIdx.x / 32;
  int const unit = lane / S::lanes;
  int const slot = lane % S::lanes * S::vec;
  std::int64_t const i = blockIdx.x;
  V sum = 0;
  if (unit < S::at_once)
    sum = sum_blocks<S::vec, unroll>(
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

/// Any shape, and values that are not aligned: `team` warps have one block row, 1 or all of them.
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
  // Slot `lane % size` of every at_once-th block, and slot `lane + 32` where a block has more.
  for (int half = 0; half < 2; ++half) {
    int const at = lane + 32 * half;
    int const slot = size < 32 ? at % size : at;
    V sum = 0;
    if (is_on && (size < 32 ? at < at_once * size : slot < size))
      sum = sum_blocks<1, 4>(c,
                             static_cast<O>(c.a.block_ptr[i] + warp % team * at_once +
                                            (size < 32 ? at / size : 0)),
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

inline int SHARES(plan_view const& p) { char const* e = std::getenv("K4"); int k = e ? std::atoi(e) / 1000 : 0; return p.multiprocessors * (k ? k : 2); }
enum : int { way }; // in plan_view::info
enum : std::int64_t { stream_of_rows, team };

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (p.transposed)
    refuse("bcsr", "transposed products have no kernel");
  std::int64_t const block_rows = (std::int64_t{a.rows} + a.height - 1) / a.height;
  std::int64_t const average = block_rows == 0 ? 0 : a.blocks / block_rows;
  std::int64_t const values = average * a.height * a.width; // of a block row
  p.info[way] = values < 4096 ? stream_of_rows : team;
  p.method = p.info[way] == team ? "blocks, a team a block row" : "blocks";
  return static_cast<std::size_t>(SHARES(p) + 1) * sizeof(I);
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view const& p) {
  auto const block_rows = static_cast<I>((std::int64_t{a.rows} + a.height - 1) / a.height);
  int const shares = SHARES(p);
  if (block_rows > 0)
    launch(start_kernel<I, O>, ceil_div(std::size_t(shares) + 1, std::size_t{128}), 128, p.stream,
           static_cast<I*>(p.work), shares, a.block_ptr, block_rows, rows_together(a.height));
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  product<V, I, O> const c{a, alpha, beta, x, y};
  if (a.rows == 0)
    return;
  auto const block_rows =
      static_cast<std::size_t>((std::int64_t{a.rows} + a.height - 1) / a.height);
  char const* e = std::getenv("K4");
  int const kk = e ? std::atoi(e) : 0;
  auto const go = [&]<int n>(std::integral_constant<int, n>) {
    if (p.info[way] == team) {
      if constexpr (n > 3 && sizeof(V) == 8 && sizeof(I) == 4) {
        if (kk == 1) return launch(team_kernel<n, n, 8, 512, V, I, O>, block_rows, 512, stream, c);
        if (kk == 2) return launch(team_kernel<n, n, 4, 512, V, I, O>, block_rows, 512, stream, c);
        if (kk == 3) return launch(team_kernel<n, n, 8, 256, V, I, O>, block_rows, 256, stream, c);
      }
      return launch(team_kernel<n, n, 4, 256, V, I, O>, block_rows, 256, stream, c);
    }
    auto const by = [&]<int TH, int per_sm, int unroll, bool ahead>() {
      launch(stream_kernel<n, n, TH, per_sm, unroll, ahead, V, I, O>,
             static_cast<std::size_t>(p.multiprocessors * per_sm), TH, stream, c, static_cast<I const*>(p.work), per_sm);
    };
    if constexpr (n == 3 && sizeof(V) == 8 && sizeof(I) == 4) {
      if (kk == 1001) return by.template operator()<1024, 1, 4, true>();
      if (kk == 1002) return by.template operator()<1024, 1, 6, false>();
      if (kk == 1003) return by.template operator()<1024, 1, 3, true>();
      if (kk == 2001) return by.template operator()<512, 2, 4, true>();
      if (kk == 2002) return by.template operator()<768, 2, 2, true>();
      if (kk == 2003) return by.template operator()<768, 2, 3, false>();
      if (kk == 4001) return by.template operator()<256, 4, 4, true>();
    }
    by.template operator()<512, 2, 4, true>();
  };
  bool const is_aligned = reinterpret_cast<std::uintptr_t>(a.val) % 16 == 0;
  if (a.height == a.width && is_aligned && !(kk == 100))
    switch (a.height) {
    case 1:
      return go(std::integral_constant<int, 1>());
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
  bool const in_teams = p.info[way] == team;
  launch(any_kernel<V, I, O>,
         in_teams ? block_rows : ceil_div(block_rows, std::size_t{threads / 32}), threads, stream,
         c, in_teams ? threads / 32 : 1);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(bcsr)

} // namespace tulle::simt
