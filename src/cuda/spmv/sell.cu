// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in SELL-C-sigma.
//
// Kreutzer et al. 2014: a lane is a row, and a warp reads the next entry of each of its rows side
// by side. How columns are stored depends on the warp's chunk. Long rows are cut into pieces, one
// warp each, in the same launch and before the chunks; a second launch adds the sums of a row's
// pieces in order. Chunks of fewer than 32 rows share a warp, which then handles each kind in turn.
#include "tulle/format/sell.hpp"

#include "cuda/spmv/compressed.cuh"
#include "cuda/spmv/ell_rows.cuh"
#include "cuda/spmv/mirror.cuh"
#include "cuda/spmv/sell_order.cuh"
#include "cuda/workspace.cuh"

#include <algorithm>
#include <vector>

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = sell_view<V, I, O, space::cuda>;

// Shares of the bound of csr, double, chunk = 32 and sigma = 1024, by warps for 32 rows / turns /
// steps of a batch / resident threads:
//             1/1/4/1536  1/1/4/1280  1/1/6/1024  1/1/8/1024  1/4/6/1024  1/8/6/1024  2/1/6/1024
// poisson2d5     1.17        1.14        1.06         .98        1.40        1.39         .63
// poisson3d27    1.44                    1.40                    1.48        1.47        1.22
// lattice        1.06        1.10         .89         .80        1.24        1.25         .53 fem
// .95        1.11        1.12         .94        1.03                    1.17 circuit         .81
// .82         .79         .78         .77                     .65 16 steps and 512 threads: .4 to
// .6. Kernels for chunks of 64 were as fast as these; chunks of other sizes use a generic one
// (poisson2d5: .88 with 8, .93 with 64). Longer windows, circuit: .79 with 1024 rows, .74 with
// 16384, .73 with all.
constexpr int any_chunk = 0, in_turns = -1; // otherwise the number of warps per 32 rows
constexpr int threads = 256;                // per block of the kernel that joins
// Entries of a long row per warp; others have not been measured.
constexpr int piece = 1024;

/// A range to add up: entries of a long row, by one warp, or sums of pieces of a row.
struct stretch {
  std::int64_t begin, end;
  std::int64_t to; // a row of y; -1 - s: the place s among the sums of pieces
};
template <class V>
struct long_rows {
  std::int64_t pieces, joins, sums;
  stretch const* of_piece;
  stretch const* of_join;
  V* sum;

  explicit long_rows(plan_view const& p)
      : pieces(p.info[0]), joins(p.info[1]), sums(p.info[2]),
        of_piece(static_cast<stretch const*>(p.work)), of_join(of_piece + pieces),
        sum(reinterpret_cast<V*>(static_cast<stretch*>(p.work) + pieces + joins)) {}
};

template <int batch, class V, class I, class O, class X>
__device__ void add_piece(V alpha, view<V, I, O> const& a, long_rows<V> const& apart,
                          std::size_t at, X x, V beta, V* y) {
  int const lane = threadIdx.x % 32;
  stretch const s = apart.of_piece[at];
  constexpr std::integral_constant<int, 32> stride;
  auto const mine = static_cast<int>((s.end - s.begin - lane + 31) / 32);
  V const sum = reduce<32>(sum_steps<batch>(
      a.long_val + s.begin + lane, stride, a.long_col + s.begin + lane, stride, 0, mine, batch, x));
  if (lane != 0)
    return;
  if (s.to < 0)
    apart.sum[-1 - s.to] = sum;
  else
    update(y + s.to, alpha, sum, beta);
}

/// The row's sum from its entries alone, if padding made it NaN.
template <class V, class I, class O, class X>
__device__ V exact_sum(view<V, I, O> const& a, std::size_t c, int chunk, int lane, I row, X x) {
  I const len = a.len[c * chunk + lane];
  V const* const val = a.val + static_cast<std::size_t>(a.step_ptr[c]) * chunk + lane;
  std::size_t const from = a.col_ptr[c];
  int const kind = a.kind[c] & sell_kind::mask;
  V sum = 0;
  I left = len;
  for (I k = 0; left > 0; ++k) {
    I j = 0;
    std::size_t const at = static_cast<std::size_t>(k) * chunk;
    if (kind == sell_kind::full)
      j = a.col[from + at + lane];
    else if (kind == sell_kind::shorts)
      j = a.base[c] + a.short_col[from + at + lane];
    else
      j = a.col[from + k] + row;
    if (kind == sell_kind::holed && (a.mask[a.base[c] + k] >> lane & 1) == 0)
      continue;
    sum = fma(val[at], element(x, j), sum);
    --left;
  }
  return sum;
}

/// The places of a chunk's arrays.
template <class I, class O>
struct place_of {
  O step, from;
  I steps, base;
  int kind;
};
template <class V, class I, class O>
__device__ place_of<I, O> find(view<V, I, O> const& a, std::size_t c) {
  O const step = a.step_ptr[c];
  return {step, a.col_ptr[c], static_cast<I>(a.step_ptr[c + 1] - step), a.base[c],
          a.kind[c] & sell_kind::mask};
}
template <class I, class O>
__device__ place_of<I, O> from_lane(place_of<I, O> const& c, int lane) {
  auto const get = [&](auto v) { return __shfl_sync(whole_warp, v, lane); };
  return {get(c.step), get(c.from), get(c.steps), get(c.base), get(c.kind)};
}

/// Chunks of `fixed` rows, or of any number if that is 0. X: a pointer, or a hot_and_rest, which
/// needs full chunks.
template <class S, int fixed, class V, class I, class O, class X>
__global__ void __launch_bounds__(S::block, S::resident(sizeof(I)))
    chunks_kernel(V alpha, view<V, I, O> a, I places, long_rows<V> apart, X x, V beta, V* y) {
  constexpr bool is_ordered = !std::is_pointer_v<X>;
  static_assert(S::turns == 1 || (S::ways == 1 && fixed >= 32));
  constexpr unsigned warps = S::block / 32;
  unsigned const warp = threadIdx.x / 32;
  wait_for_launch_before();
  auto const before = static_cast<unsigned>(ceil_div<std::int64_t>(apart.pieces, warps));
  if (blockIdx.x < before) {
    if (std::int64_t const at = blockIdx.x * std::int64_t{warps} + warp; at < apart.pieces)
      add_piece<S::batch>(alpha, a, apart, at, x, beta, y);
    return;
  }
  using U = std::make_unsigned_t<I>; // the last block may exceed the largest I
  U const group =
      (static_cast<U>(blockIdx.x - before) * (warps / S::ways) + warp / S::ways) * S::turns;
  int const chunk = fixed ? fixed : a.chunk;
  int const shift = __ffs(chunk) - 1;
  std::conditional_t<fixed != 0, std::integral_constant<int, fixed>, int> stride;
  if constexpr (fixed == 0)
    stride = chunk;
  I const first = warp % S::ways * S::batch;
  constexpr I hop = S::ways * S::batch;

  place_of<I, O> ahead = {}; // one turn per lane, so that all wait for memory only once
  if constexpr (S::turns > 1) {
    U const at = (group + threadIdx.x % S::turns) * 32;
    if (at < static_cast<U>(places))
      ahead = find(a, at >> shift);
  }
#pragma unroll 1
  for (int turn = 0; turn < S::turns; ++turn) {
    U const place = (group + turn) * 32 + threadIdx.x % 32;
    place_of<I, O> c;
    if constexpr (S::turns > 1)
      c = from_lane(ahead, turn);
    if (place >= static_cast<U>(places))
      continue;
    if constexpr (S::turns == 1)
      c = find(a, place >> shift);
    int const lane = static_cast<int>(place & (chunk - 1));
    V const* const val = a.val + static_cast<std::size_t>(c.step) * chunk + lane;
    I const row = a.perm ? a.perm[place] : static_cast<I>(place);
    V sum;
    if constexpr (is_ordered)
      sum = sum_steps<S::batch>(val, stride, a.col + c.from + lane, stride, first, c.steps, hop, x);
    else if (c.kind == sell_kind::full)
      sum = sum_steps<S::batch>(val, stride, a.col + c.from + lane, stride, first, c.steps, hop, x);
    else if (c.kind == sell_kind::shorts)
      sum = sum_steps<S::batch>(val, stride, a.short_col + c.from + lane, stride, first, c.steps,
                                hop, x + c.base);
    else
      sum = sum_steps<S::batch, true>(val, stride, a.col + c.from, std::integral_constant<int, 1>(),
                                      first, c.steps, hop, x + row);
    sum = join_warps<S::block, S::ways>(sum);
    if (warp % S::ways != 0)
      return;
    if (sum != sum)
      sum = exact_sum(a, place >> shift, chunk, lane, row, x);
    update(y + row, alpha, sum, beta);
  }
}

/// One warp per row.
template <class V>
__global__ void join_kernel(V alpha, long_rows<V> apart, V beta, V* y) {
  std::int64_t const at = (blockIdx.x * std::int64_t{threads} + threadIdx.x) / 32;
  if (at >= apart.joins)
    return;
  wait_for_launch_before();
  stretch const s = apart.of_join[at];
  V sum = 0;
  for (std::int64_t k = s.begin + threadIdx.x % 32; k < s.end; k += 32)
    sum += apart.sum[k];
  sum = reduce<32>(sum);
  if (threadIdx.x % 32 == 0)
    update(y + s.to, alpha, sum, beta);
}

/// Calls f(row among the long ones, first entry, last, pieces) for each long row.
template <class V, class I, class O, class F>
void each_long_row(view<V, I, O> const& a, plan_view const& p, F&& f) {
  if (a.longs == 0)
    return;
  auto const ptr = fetch(a.long_ptr, static_cast<std::size_t>(a.longs) + 1, p.stream);
  for (std::size_t i = 0; i + 1 < ptr.size(); ++i)
    f(i, ptr[i], ptr[i + 1],
      std::max<std::int64_t>(1, ceil_div<std::int64_t>(ptr[i + 1] - ptr[i], piece)));
}

/// What follows them in the workspace.
template <class V>
carver after_long_rows(plan_view const& p) {
  carver work(p.work);
  work.take<char>(static_cast<std::size_t>(p.info[0] + p.info[1]) * sizeof(stretch) +
                  static_cast<std::size_t>(p.info[2]) * sizeof(V));
  return work;
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (p.transposed && !a.symmetric)
    refuse("sell", "transposed products have no kernel; those of csr and csc do");
  std::size_t const places = a.places(), chunks = a.chunks();
  std::size_t const steps =
      chunks == 0 ? 0
                  : static_cast<std::size_t>(a.stored) / static_cast<std::size_t>(a.chunk) / chunks;
  // If almost no columns are stored, a chunk is little work, mostly waiting for the load of its
  // place.
  bool const stencil = a.col_size / 8 + a.short_size / 8 < a.stored / 32 &&
                       places >= (steps < 16 ? 1u << 17 : 1u << 19);
  p.method = "chunks";
  p.info[3] = a.chunk != 32 ? any_chunk : stencil ? in_turns : ways_for(places, steps);
  std::int64_t pieces = 0, joins = 0, sums = 0;
  each_long_row(a, p, [&](std::size_t, O, O, std::int64_t n) {
    pieces += n;
    joins += n > 1;
    sums += n > 1 ? n : 0;
  });
  p.info[0] = pieces;
  p.info[1] = joins;
  p.info[2] = sums;
  p.info[4] = !a.symmetric && p.info[3] == 1 && is_worth_ordering(a, p.stream);
  if (p.info[4])
    p.method = "chunks, columns by their entries";
  carver work = after_long_rows<V>(p);
  if (p.info[4])
    ordered_columns(work, a);
  if (a.symmetric) {
    p.method = "chunks, and what mirrors them";
    mirror(work, a.rows, a.stored);
    reserve_lines<V>(a.rows, a.stored, work);
  }
  return work.used();
}

/// The row of the mirror image of each stored entry, and the entry's own row.
template <class V, class I, class O>
__global__ void mirrored_places_kernel(view<V, I, O> a, std::size_t chunks, std::size_t places,
                                       I* key, I* line) {
  std::size_t const c = side_thread() / a.chunk;
  int const lane = threadIdx.x % a.chunk;
  if (c >= chunks)
    return;
  std::size_t const place = c * a.chunk + lane;
  I const row = place >= places ? 0 : a.perm ? a.perm[place] : static_cast<I>(place);
  for (O k = a.step_ptr[c]; k < a.step_ptr[c + 1]; ++k) { // the value for places without an entry
    key[k * a.chunk + lane] = a.rows;
    line[k * a.chunk + lane] = row;
  }
  each_place(a, c, lane, places, [&](std::size_t at, I j, bool is_entry) {
    if (is_entry && j != row)
      key[at] = j;
  });
}

constexpr int lines_info = 8; // of plan_view::info, where the plan of compressed rows begins

/// The product over the mirror images has its own plan within the plan.
inline plan_view lines_plan(plan_view const& p) {
  plan_view of_lines = p;
  std::copy(p.info + lines_info, p.info + 2 * lines_info, of_lines.info);
  return of_lines;
}

template <class V, class I, class O>
void fill_mirror(view<V, I, O> const& a, plan_view& p, carver& work) {
  mirror<I, O> const m(work, a.rows, a.stored);
  auto const n = static_cast<std::size_t>(a.stored);
  scratch<I> const key(n, p.stream), line(n, p.stream);
  launch(mirrored_places_kernel<V, I, O>,
         side_blocks(a.chunks() * static_cast<std::size_t>(a.chunk)), side_threads, p.stream, a,
         a.chunks(), a.places(), key.get(), line.get());
  m.fill_by(a.rows, a.stored, key.get(), line.get(), p.stream);
  p.info[5] = n == 0 ? 0 : fetch(m.ptr + a.rows, 1, p.stream)[0];
  plan_view of_lines = lines_plan(p);
  fill_lines<V>(a.rows, static_cast<O>(p.info[5]), static_cast<O const*>(m.ptr), of_lines, work);
  std::copy(of_lines.info, of_lines.info + lines_info, p.info + lines_info);
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view& p) {
  if (a.symmetric) {
    carver work = after_long_rows<V>(p);
    return fill_mirror(a, p, work);
  }
  if (p.info[4]) {
    carver work = after_long_rows<V>(p);
    renumber(a, ordered_columns(work, a), p.stream);
  }
  if (p.info[0] == 0)
    return;
  auto const row = fetch(a.long_row, static_cast<std::size_t>(a.longs), p.stream);
  std::vector<stretch> all(static_cast<std::size_t>(p.info[0] + p.info[1]));
  stretch* to = all.data();
  stretch* join = all.data() + p.info[0];
  std::int64_t sums = 0;
  each_long_row(a, p, [&](std::size_t i, O begin, O end, std::int64_t n) {
    if (n > 1)
      *join++ = {sums, sums + n, row[i]};
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t const from = begin + k * piece;
      *to++ = {from, std::min<std::int64_t>(end, from + piece), n > 1 ? -1 - sums++ : row[i]};
    }
  });
  auto const stream = static_cast<cudaStream_t>(p.stream);
  TULLE_CUDA(cudaMemcpyAsync, p.work, all.data(), all.size() * sizeof(stretch),
             cudaMemcpyHostToDevice, stream);
  TULLE_CUDA(cudaStreamSynchronize, stream);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  long_rows<V> const apart(p);
  std::size_t const places = a.places();
  auto const blocks = [&]<class S>(S) {
    return ceil_div(static_cast<std::size_t>(apart.pieces), std::size_t{S::block / 32}) +
           ceil_div(places, std::size_t{S::block / S::ways * S::turns});
  };
  auto const go = [&]<class S, int fixed>(S s, std::integral_constant<int, fixed>) {
    launch_early(chunks_kernel<S, fixed, V, I, O, V const*>, blocks(s), S::block, stream, alpha, a,
                 static_cast<I>(places), apart, x, beta, y);
  };
  constexpr std::integral_constant<int, 32> fixed;
  using one_way = shape<1, 1, 4, 256, 6>;
  if (p.info[4]) {
    carver work = after_long_rows<V>(p);
    ordered_columns const to(work, a);
    hot_and_rest<V, I> const gathered = to.hot.gather(x, stream);
    launch_early(chunks_kernel<one_way, 32, V, I, O, hot_and_rest<V, I>>, blocks(one_way()),
                 one_way::block, stream, alpha, to.view_of(a), static_cast<I>(places), apart,
                 gathered, beta, y);
  } else
    switch (p.info[3]) {
    case any_chunk:
      go(shape<1, 1, 4, 256, 4>(), std::integral_constant<int, 0>());
      break;
    case in_turns:
      go(shape<1, 4, 6, 128, 8>(), fixed);
      break;
    case 1:
      go(one_way(), fixed);
      break;
    case 2:
      go(shape<2, 1, 6, 128, 8>(), fixed);
      break;
    case 8:
      go(shape<8, 1, 6, 256, 4>(), fixed);
      break;
    default:
      go(shape<32, 1, 4, 1024, 1>(), fixed);
    }
  launch_early(join_kernel<V>,
               ceil_div(static_cast<std::size_t>(apart.joins) * 32, std::size_t{threads}), threads,
               stream, alpha, apart, beta, y);
  if (!a.symmetric)
    return;
  carver work = after_long_rows<V>(p);
  mirror<I, O> const m(work, a.rows, a.stored);
  if (p.info[5] > 0)
    run_lines<V, I, O>(alpha, {a.rows, static_cast<O>(p.info[5]), m.ptr, m.other, a.val, m.place},
                       x, V(1), y, lines_plan(p), work, stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(sell)

} // namespace tulle::kernels::cuda
