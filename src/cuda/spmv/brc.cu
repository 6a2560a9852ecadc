// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in BRC.
//
// Ashari et al., ICS 2014: a thread is a row of a block, and a warp reads the next entry of each of
// its rows side by side. Blocks of the first level store to y; those of later levels leave their
// sums, which a second launch adds in order. Padding is as in ell: a sum that is NaN is computed
// again.
#include "tulle/format/brc.hpp"

#include "cuda/primitive/search.cuh"
#include "cuda/spmv/ell_rows.cuh"
#include "cuda/workspace.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = brc_view<V, I, O, space::cuda>;

// us of a product, double, H200, chunk = 32, 64, 128 with width = 128, and 32 with 32: poisson2d5
// 4096 481, 721, 713, 481; fem 500000 100, 134, 133, 188; lattice 4000000 107 each; rmat 21 16 272,
// 296, 298, 310; circuit 2000000 336, 387, 403, 890: in circuit one row has most of the levels.
constexpr int threads = 256;
// With fewer blocks of 32 rows than this, each has several warps, as in ell: us with one and with
// four, dense 2048 28, 18; lp 4096 1100000 2600 107, 97.
constexpr int few_blocks = 1 << 13, several_warps = 4;
constexpr int batch = 4; // entries per thread in flight

enum : int { begun_rows, first_blocks, joined_rows }; // of plan_view::info

/// Blocks of `fixed` rows, or of any number of rows if that is 0; `ways` warps per 32 rows. The
/// threads after the blocks set the rows without entries.
template <int fixed, int ways, class V, class I, class O>
__global__ void __launch_bounds__(threads, sizeof(I) == 4 ? 6 : 4)
    blocks_kernel(V alpha, view<V, I, O> a, I begun, I first_level, V const* x, V beta, V* y,
                  V* later) {
  wait_for_launch_before();
  unsigned const warp = threadIdx.x / 32;
  auto const way = static_cast<I>(warp % ways);
  std::size_t const number =
      (blockIdx.x * std::size_t{threads / 32 / ways} + warp / ways) * 32 + threadIdx.x % 32;
  unsigned const chunk = fixed ? fixed : a.chunk;
  std::size_t const b = number / chunk;
  auto const lane = static_cast<unsigned>(number % chunk);
  if (b >= static_cast<std::size_t>(a.blocks)) {
    std::size_t const p =
        static_cast<std::size_t>(begun) + number - static_cast<std::size_t>(a.blocks) * chunk;
    if (p < static_cast<std::size_t>(a.rows) && way == 0)
      update(y + a.perm[p], alpha, V(0), beta);
    return;
  }
  I const t = b < static_cast<std::size_t>(first_level)
                  ? I(0)
                  : upper_bound(a.level_ptr, static_cast<I>(a.levels + 1), static_cast<I>(b)) - 1;
  std::size_t const first =
      (b - (t == 0 ? std::size_t{0} : static_cast<std::size_t>(a.level_ptr[t]))) * chunk;
  auto const left = static_cast<std::size_t>(t == 0 ? begun : a.level_rows[t]) - first;
  unsigned const n = left < chunk ? static_cast<unsigned>(left) : chunk;
  if (lane >= n)
    return;
  O const at = a.block_ptr[b];
  I const width = static_cast<I>((a.block_ptr[b + 1] - at) / static_cast<O>(n));
  V const* const val = a.val + at + lane;
  I const* const col = a.col + at + lane;
  auto const add = [&](auto stride, I from, I steps, I hop) {
    return sum_steps<batch>(val, stride, col, stride, static_cast<I>(from * batch), steps,
                            static_cast<I>(hop * batch), x);
  };
  V sum = fixed != 0 && n == chunk ? add(std::integral_constant<int, fixed>(), way, width, I(ways))
                                   : add(static_cast<int>(n), way, width, I(ways));
  sum = join_warps<threads, ways>(sum);
  if (way != 0)
    return;
  if (sum != sum) {
    O const goes_on = a.len[first + lane] - static_cast<O>(t) * a.width;
    sum = add(static_cast<int>(n), I(0), goes_on < width ? static_cast<I>(goes_on) : width, I(1));
  }
  if (t == 0)
    update(y + a.perm[first + lane], alpha, sum, beta);
  else
    later[(b - static_cast<std::size_t>(first_level)) * chunk + lane] = sum;
}

/// A warp for each row of several levels.
template <class V, class I, class O>
__global__ void join_kernel(V alpha, view<V, I, O> a, I joined, V* y, V const* later) {
  wait_for_launch_before();
  std::size_t const p = (blockIdx.x * std::size_t{threads} + threadIdx.x) / 32;
  if (p >= static_cast<std::size_t>(joined))
    return;
  std::size_t const chunk = a.chunk;
  V sum = 0;
  for (I t = 1 + static_cast<I>(threadIdx.x % 32);
       t < a.levels && p < static_cast<std::size_t>(a.level_rows[t]); t += 32)
    sum += later[(static_cast<std::size_t>(a.level_ptr[t] - a.level_ptr[1]) + p / chunk) * chunk +
                 p % chunk];
  sum = reduce<32>(sum);
  if (threadIdx.x % 32 == 0)
    y[a.perm[p]] = fma(alpha, sum, y[a.perm[p]]);
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (p.transposed)
    refuse("brc", "transposed products have no kernel; those of csr and csc do");
  p.method = a.levels > 1 ? "blocks, later ones joined" : "blocks";
  if (a.levels == 0)
    return 0;
  auto const rows = fetch(a.level_rows, a.levels > 1 ? 2 : 1, p.stream);
  p.info[begun_rows] = rows[0];
  p.info[first_blocks] = fetch(a.level_ptr + 1, 1, p.stream)[0];
  p.info[joined_rows] = rows.size() > 1 ? rows[1] : 0;
  return static_cast<std::size_t>(a.blocks - p.info[first_blocks]) *
         static_cast<std::size_t>(a.chunk) * sizeof(V);
}

template <class V, class I, class O>
void fill(view<V, I, O>, plan_view const&) {}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  auto const begun = static_cast<I>(p.info[begun_rows]);
  auto const joined = static_cast<I>(p.info[joined_rows]);
  auto* const later = static_cast<V*>(p.work);
  std::size_t const all = static_cast<std::size_t>(a.blocks) * static_cast<std::size_t>(a.chunk) +
                          static_cast<std::size_t>(a.rows - begun);
  auto const go = [&](auto kernel, int ways) {
    launch_early(kernel, ceil_div(all, static_cast<std::size_t>(threads / ways)), threads, stream,
                 alpha, a, begun, static_cast<I>(p.info[first_blocks]), x, beta, y, later);
  };
  if (a.chunk != 32)
    go(blocks_kernel<0, 1, V, I, O>, 1);
  else if (a.blocks < few_blocks && a.rows != 0 && a.nnz / a.rows >= batch * several_warps)
    go(blocks_kernel<32, several_warps, V, I, O>, several_warps);
  else
    go(blocks_kernel<32, 1, V, I, O>, 1);
  launch_early(join_kernel<V, I, O>,
               ceil_div(static_cast<std::size_t>(joined) * 32, std::size_t{threads}), threads,
               stream, alpha, a, joined, y, static_cast<V const*>(later));
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(brc)

} // namespace tulle::kernels::cuda
