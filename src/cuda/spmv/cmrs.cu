// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in cmrs.
//
// Koza et al., 2014, alg. 1: a warp takes a strip, 32 slots at a time, and adds each product to a
// sum of its row in shared memory. The paper has a sum for each row and lane, so that no two lanes
// meet; here fewer sums suffice, since shared memory of a block is lost to the cache:
//   by rows   rows ascend: lanes of one row add up by a segmented scan, and its last one has the
//             row's only sum to itself;
//   sorted    lanes are taken in as many turns as it needs for lanes of one turn not to meet;
//   padded    sec. 6.7: at most `modulo` slots of a row in a warp of the layout, side by side, so
//             `modulo` sums a row and warp of the layout do, in one turn. Padding is left out.
//
// Padded strips begin at the cache lines of a warp. Aligning others as well, with idle lanes before
// the strip (sec. 4), does not pay on an H200: poisson3d27 1 % less time, fem 1 % more, poisson2d5
// and circuit in strips of 8 rows 12 to 18 % more, others as long.
//
// Strips so long that others would wait for them are cut, and the sums of their pieces are kept in
// the workspace; the warp that ends last adds them, in an order that the matrix alone decides.
// Bytes that must move, double with 32-bit indices: 12 per slot, 8 + 4 / height per row and 8 per
// column.
#include "tulle/format/cmrs.hpp"

#include "cuda/spmv/strip_pieces.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = cmrs_view<V, I, O, space::cuda>;

constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr int sums_room = 256; // of a sorted strip; circuit in strips of 32: .56; 128 .50; 512 .49
constexpr std::int64_t piece_slots = 1024; // of a strip that is cut: a multiple of any warp
constexpr std::int64_t long_strip = 2 * piece_slots;

enum order : int { by_rows, sorted, padded };

// Windows of 32 slots per batch of loads in flight, and resident blocks per multiprocessor.
// csr_bound_ratio on poisson2d5 and fem, strips of 32, by windows and blocks: sorted 2, 8 .64 .56;
// 4, 8 .54 .57; 4, 6 .53 .53; 5, 6 .61 .50; 8, 5 .48 .47. By rows 2, 8 .65 .55; 4, 8 .49 .53; 4, 6
// .58 .59; 5, 6 .67 .57; 8, 5 .53 .54.
template <order of, class I>
struct tuned {
  static constexpr int windows = of == sorted ? 2 : of == by_rows ? 5 : 4;
  static constexpr int resident = sizeof(I) == 8 ? 4 : of == sorted ? 8 : 6;
};

struct strips_shape {
  int height, bits;
  int sums;         // of a row
  int turns;        // sorted: of `sums` lanes each
  int warp, modulo; // padded: of the layout, at most 32
  std::int64_t strips;
};

/// Adds over the lanes with the same lane % height.
template <class V>
__device__ V across(V sum, int height) {
  for (int d = 16; d >= height; d /= 2)
    sum += __shfl_xor_sync(whole_warp, sum, d);
  return sum;
}

/// Adds a product of each lane to the sums of rows; r: its row in the strip, slot: where the lane's
/// sums begin.
template <order of, class V>
__device__ __forceinline__ void add_products(strips_shape const& s, bool is_there, int r, int slot,
                                             V product, V* sums) {
  int const lane = threadIdx.x % 32;
  if constexpr (of == by_rows) {
    // Lanes past the end have row height - 1 and a zero.
    int const other = __shfl_up_sync(whole_warp, r, 1);
    unsigned const heads = __ballot_sync(whole_warp, lane == 0 || r != other);
    unsigned const mine = heads & (0xffffffffu >> (31 - lane));
    int const start = 31 - __clz(static_cast<int>(mine));
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      V const before = __shfl_up_sync(whole_warp, product, d);
      if (lane - d >= start)
        product += before;
    }
    if (lane == 31 || heads >> (lane + 1) & 1)
      sums[r] += product;
    __syncwarp();
  } else if constexpr (of == padded) {
    if (is_there)
      sums[slot + r] += product;
    __syncwarp();
  } else {
    for (int turn = 0; turn < s.turns; ++turn) {
      if (lane / s.sums == turn && is_there)
        sums[slot + r] += product;
      __syncwarp();
    }
  }
}

/// The products of slots [begin, end), added up by rows in shared memory.
template <order of, class V, class I, class O>
__device__ __forceinline__ void sum_rows(view<V, I, O> const& a, V const* x, strips_shape const& s,
                                         std::int64_t begin, std::int64_t end, V* sums) {
  constexpr int batch = tuned<of, I>::windows;
  int const lane = threadIdx.x % 32;
  for (int k = lane; k < s.height * s.sums; k += 32)
    sums[k] = 0;
  __syncwarp();
  using U = std::make_unsigned_t<I>;
  int slot = 0;
  if (of == sorted)
    slot = lane % s.sums * s.height;
  if (of == padded)
    slot = (lane / s.warp * s.modulo + lane % s.modulo) * s.height;
  for (std::int64_t k = begin + lane; k - lane < end; k += 32 * batch) {
    I word[batch];
    V v[batch];
#pragma unroll
    for (int j = 0; j < batch; ++j) {
      bool const is_there = k + 32 * j < end;
      word[j] = is_there ? __ldcs(a.col + k + 32 * j) : I(-1);
      v[j] = is_there ? __ldcs(a.val + k + 32 * j) : V(0);
    }
#pragma unroll
    for (int j = 0; j < batch; ++j)
      if (word[j] >= 0) // neither padding nor past the end
        v[j] *= __ldg(x + (static_cast<U>(word[j]) >> s.bits));
#pragma unroll
    for (int j = 0; j < batch; ++j)
      add_products<of>(s, word[j] >= 0, static_cast<int>(word[j]) & (s.height - 1), slot, v[j],
                       sums);
  }
}

/// Adds the pieces of a cut strip; by the warp of the last one.
template <class V, class I, class O>
__device__ __forceinline__ void join_pieces(V alpha, cut_strips<V> const& cut, piece const& p,
                                            std::int64_t strip, int height, view<V, I, O> const& a,
                                            V beta, V* y) {
  for (int r = threadIdx.x % 32; r < (height < 32 ? 32 : height); r += 32) {
    V sum = 0;
    V const* const from = cut.sums + p.first * height;
#pragma unroll 4
    for (std::int64_t k = r; k < p.count * height; k += height < 32 ? 32 : height)
      sum += left_by_others(from + k);
    sum = across(sum, height);
    std::int64_t const row = strip * height + r;
    if (r < height && row < a.rows)
      update(y + row, alpha, sum, beta);
  }
}

/// of: the order of slots.
template <order of, class V, class I, class O>
__global__ void __launch_bounds__(threads, tuned<of, I>::resident)
    strips_kernel(V alpha, view<V, I, O> a, V const* __restrict__ x, V beta, V* __restrict__ y,
                  strips_shape s, cut_strips<V> cut) {
  extern __shared__ double raw[];
  int const lane = threadIdx.x % 32;
  V* const sums = reinterpret_cast<V*>(raw) + threadIdx.x / 32 * s.height * s.sums;
  std::int64_t const at = blockIdx.x * std::int64_t{warps} + threadIdx.x / 32;
  bool const is_piece = at < cut.pieces;
  std::int64_t strip = at - cut.pieces;
  piece p{};
  if (is_piece) {
    p = cut.list[at];
    strip = p.strip;
  }
  if (strip >= s.strips)
    return;
  std::int64_t begin = a.strip_ptr[strip];
  std::int64_t end = a.strip_ptr[strip + 1];
  if (is_piece) {
    begin += (at - p.first) * piece_slots;
    end = end < begin + piece_slots ? end : begin + piece_slots;
  } else if (end - begin > long_strip) {
    return;
  }
  sum_rows<of>(a, x, s, begin, end, sums);
  for (int r = lane; r < (s.height < 32 ? 32 : s.height); r += 32) {
    V sum = 0;
    for (int k = r; k < s.height * s.sums; k += s.height < 32 ? 32 : s.height)
      sum += sums[k];
    sum = across(sum, s.height);
    std::int64_t const row = strip * s.height + r;
    if (r >= s.height)
      continue;
    if (is_piece)
      cut.sums[at * s.height + r] = sum;
    else if (row < a.rows)
      update(y + row, alpha, sum, beta);
  }
  if (is_piece && is_last_piece(cut, p, lane))
    join_pieces(alpha, cut, p, strip, s.height, a, beta, y);
}

template <class V, class I, class O>
std::vector<piece> pieces_in(view<V, I, O> const& a, plan_view const& p) {
  return pieces_of(a.strip_ptr, a.stored == 0 ? 0 : a.strips(), long_strip, piece_slots, p.stream);
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    refuse("cmrs", "transposed products have no kernel; csr has one");
  p.method = "strips";
  std::size_t const pieces = pieces_in(a, p).size();
  p.info[0] = static_cast<std::int64_t>(pieces);
  return pieces_bytes<V>(pieces, a.layout.height);
}

template <class V, class I, class O>
void fill(view<V, I, O> const& a, plan_view const& p) {
  if (p.info[0] != 0)
    fill_pieces<V>(pieces_in(a, p), p.work, a.layout.height, p.stream);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p,
          void* stream) {
  cmrs_layout const& l = a.layout;
  strips_shape s{l.height, l.bits(), 1, 1, 32, 1, static_cast<std::int64_t>(a.strips())};
  if (l.warp != 0) {
    s.warp = l.warp < 32 ? l.warp : 32;
    s.modulo = l.modulo < 32 ? l.modulo : 32;
    s.sums = 32 / s.warp * s.modulo;
  } else if (l.sorted) {
    s.sums = sums_room / l.height < 32 ? sums_room / l.height : 32;
    s.turns = 32 / s.sums;
  }
  auto const go = [&](auto kernel) {
    launch_shared(
        kernel, ceil_div(static_cast<std::size_t>(s.strips + p.info[0]), std::size_t{warps}),
        threads, std::size_t{warps} * static_cast<unsigned>(s.height * s.sums) * sizeof(V), stream,
        alpha, a, x, beta, y, s, cut_at<V>(p.work, p.info[0], l.height));
  };
  if (l.warp != 0)
    go(strips_kernel<padded, V, I, O>);
  else if (l.sorted)
    go(strips_kernel<sorted, V, I, O>);
  else
    go(strips_kernel<by_rows, V, I, O>);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(cmrs)

} // namespace tulle::kernels::cuda
