// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in csr5.
//
// Liu, thesis 2015, algorithm 32: a thread has a lane of a tile, and a warp has 32 lanes: one tile
// if omega is 32, otherwise several tiles or half of one, since lanes are numbered through all
// tiles in the order of csr. Sums of rows that end within the warp go to shared memory in the order
// of rows, so that y is written in whole sectors; what is open at a lane's end goes to the lane
// where its row ends by a segmented scan.
//
// Unlike the thesis, rows that warps share are not added by atomics, and sums are not differences
// of prefix sums: an Inf in one row would be a NaN in the next. A block adds the pieces of its
// warps in order. Rows that blocks share wait in the workspace: the block that ends last adds the
// pieces, in an order that the matrix alone decides, so one launch suffices and the bits are
// reproducible.
//
// If rows are longer than tiles, long_rows.cuh is used.
//
// Bytes that must move, double with 32-bit indices: 12 per entry, 4 per sigma entries, 8 per row
// and 8 per column.
#include "tulle/format/csr5.hpp"

#include "cuda/instantiate.cuh"
#include "cuda/long_rows.cuh"
#include "cuda/primitive/warp.cuh"
#include "cuda/scale.cuh"
#include "cuda/spmv/csr5_joins.cuh"
#include "cuda/workspace.cuh"
#include "format/detail/csr5_tiles.hpp"

#include <vector>

namespace tulle::kernels::cuda {
namespace {

constexpr int most_empty_rows = 1 << 14; // of a tile: with more, y is scaled first
// Sums per warp in shared memory: room_factor times the average number, plus room_more.
constexpr double room_factor = 1.25;
constexpr int room_more = 32;

// Resident blocks per multiprocessor, and steps whose loads are in flight together. Tiles of 16
// steps, csr_bound_ratio on poisson2d5 and fem, by steps and blocks: 8, 5 .80 .79; 8, 4 .81 .79; 8,
// 6 .77 .80; 4, 6 .76 .78; 16, 6 .76 .77; 8, 8 .65 .68; rmat takes .298 ms with 8, 5, .304 with 8,
// 6 (all before arrive.cuh, which gave a tenth). Loading x in the order of csr and transposing it
// in shared memory took 1.2 to 1.4 times as long, since fewer blocks fit; ordering columns by their
// entries, as in sell, gained nothing on rmat.
template <class I>
constexpr int resident = sizeof(I) == 4 ? 5 : 4; // 4: a guess
constexpr int few_steps = 4, many_steps = 8;

/// The sum of a lane since its last flag; calls flag(sum) at each flag. steps: of the lane, 0 if
/// not known to the compiler.
template <int steps, int batch, class V, class I, class F>
__device__ V sum_lane(I const* col, V const* val, V const* x, int stride, int sigma, unsigned flags,
                      F flag) {
  V sum = 0;
#pragma unroll
  for (int j = 0; j < (steps == 0 ? sigma : steps); j += batch) {
    I c[batch];
    V v[batch];
#pragma unroll
    for (int k = 0; k < batch; ++k)
      if (j + k < (steps == 0 ? sigma : steps)) {
        c[k] = __ldcs(col + (j + k) * stride);
        v[k] = __ldcs(val + (j + k) * stride);
      }
#pragma unroll
    for (int k = 0; k < batch; ++k)
      if (j + k < (steps == 0 ? sigma : steps)) {
        if (flags & (0x80000000u >> (j + k))) {
          flag(sum);
          sum = 0;
        }
        sum = fma(v[k], __ldg(x + c[k]), sum);
      }
  }
  return sum;
}

/// The rows of a lane, its tile and its warp.
template <class I, class O>
struct lane_rows {
  I tile_row;     // of the tile's first entry
  I last;         // the row that is open at the lane's end
  I before;       // the row that is open at its beginning; not set in lane 0
  I first, next;  // row of the warp's first entry, and of the first entry after it
  I const* empty; // the tile's empty_offset, if it has an empty row
  bool has_empty; // the tile has an empty row
  bool any_empty; // a tile of the warp has one

  /// Row k of the tile among those that have entries. Tests the flag, not a null pointer: ptxas
  /// 13.0 tests that two cycles before it is loaded.
  __device__ I at(int k) const { return static_cast<I>(tile_row + (has_empty ? empty[k] : k)); }
};

template <bool is_tile, class V, class I, class O>
__device__ lane_rows<I, O> rows_of(view<V, I, O> const& a, tiles_shape const& s,
                                   std::make_unsigned_t<O> at, unsigned word, int end_lane) {
  using U = std::make_unsigned_t<O>;
  int const omega_bits = is_tile ? 5 : s.omega_bits;
  int const omega = 1 << omega_bits;
  int const lane = threadIdx.x % 32;
  U const tile = at >> omega_bits;
  int const i = static_cast<int>(at) & (omega - 1);
  lane_rows<I, O> r;
  auto const pointer = lane <= end_lane ? a.tile_ptr[tile] : 0;
  auto const behind = lane <= end_lane ? a.tile_ptr[tile + 1] : 0;
  r.has_empty = (pointer & detail::csr5_mark<I>) != 0;
  r.any_empty = __any_sync(whole_warp, r.has_empty);
  r.tile_row = row_of<I>(pointer);
  r.empty = a.empty_offset + (r.has_empty ? a.empty_offset_ptr[tile] : O(0));
  int const y_offset = static_cast<int>(word >> (32 - s.y_bits));
  r.last = r.at(y_offset + (lane <= end_lane ? __popc(word << s.before) - 1 : 0));
  r.before = __shfl_up_sync(whole_warp, r.last, 1);
  r.first = r.tile_row;
  r.next = row_of<I>(behind);
  if (!is_tile && lane <= end_lane) { // lanes 0 and 31 may be within a tile of 64
    if (i != 0)
      r.first = r.at(y_offset - !(word << s.before >> 31));
    if (i != omega - 1) {
      unsigned const other = a.tile_desc[at + 1];
      r.next = r.at(static_cast<int>(other >> (32 - s.y_bits)) - !(other << s.before >> 31));
    }
  }
  r.first = __shfl_sync(whole_warp, r.first, 0);
  r.next = __shfl_sync(whole_warp, r.next, end_lane);
  return r;
}

/// The flags of a lane, except for one: the row of the warp's first entry counts as open, and the
/// row of a tile's first entry if it is.
struct lane_flags {
  unsigned flags;
  bool is_cleared; // the first flag is removed
  int before;      // number of rows that end in the lanes before
  int ended;       // number of rows that end in this lane
};

/// rows is only read if not is_tile.
template <bool is_tile, class I, class O, class U>
__device__ __forceinline__ lane_flags flags_of(tiles_shape const& s, unsigned word, U at,
                                               lane_rows<I, O> const& rows) {
  int const lane = threadIdx.x % 32;
  lane_flags f;
  f.flags = word << s.before;
  f.is_cleared = lane == 0;
  f.before = 0;
  if constexpr (is_tile) {
    int const y_offset = static_cast<int>(word >> (32 - s.y_bits));
    f.before = y_offset > 0 ? y_offset - 1 : 0;
  } else {
    if (lane != 0 && (at & ((1u << s.omega_bits) - 1)) == 0)
      f.is_cleared = rows.before == rows.tile_row;
  }
  f.is_cleared = f.is_cleared && f.flags >> 31;
  if (f.is_cleared)
    f.flags &= 0x7fffffffu;
  f.ended = __popc(f.flags);
  if constexpr (!is_tile) {
    f.before = f.ended;
    for (int d = 1; d < 32; d *= 2) {
      int const other = __shfl_up_sync(whole_warp, f.before, d);
      f.before += lane >= d ? other : 0;
    }
    f.before -= f.ended;
  }
  return f;
}

/// The sums of the rows that are open at the beginning and at the end of a warp.
template <class V>
struct open_sums {
  V head, tail;
};
/// Adds the open sums of lanes to the lane where the row ends. sum: of a lane since its last flag;
/// lead: of a lane until its first flag.
template <class V>
__device__ __forceinline__ open_sums<V> join_lanes(unsigned flags, V sum, V& lead) {
  int const lane = threadIdx.x % 32;
  unsigned const with_flags = __ballot_sync(whole_warp, flags != 0);
  if (with_flags != whole_warp) {
    unsigned const mine = with_flags & (0xffffffffu >> (31 - lane));
    int const start = mine == 0 ? 0 : 31 - __clz(static_cast<int>(mine));
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      V const other = __shfl_up_sync(whole_warp, sum, d);
      if (lane - d >= start)
        sum += other;
    }
  }
  V const carry = __shfl_up_sync(whole_warp, sum, 1);
  V const tail = __shfl_sync(whole_warp, sum, 31);
  if (lane != 0)
    lead += carry;
  V head = tail;
  if (with_flags != 0)
    head = __shfl_sync(whole_warp, lead, __ffs(static_cast<int>(with_flags)) - 1);
  return {head, tail};
}

/// How a warp writes rows of y.
template <class V, class I, class O>
struct row_writer {
  V alpha, beta;
  V* y;
  bool is_filled;
  lane_rows<I, O> const& rows;

  __device__ __forceinline__ void fill(I begin, I end) const {
    int const lane = threadIdx.x % 32;
    if (!is_filled)
      for (I r = begin + lane; r < end; r += 32)
        y[r] = beta == V(0) ? V(0) : beta * y[r];
  }
  __device__ __forceinline__ void put(I r, V v) const {
    y[r] = beta == V(0) ? alpha * v : fma(alpha, v, rows.any_empty ? y[r] : beta * y[r]);
  }
};

/// The product of the lanes of a warp; `at` is the number of this lane among all. stage: room for
/// s.room sums in shared memory.
template <bool is_tile, int steps, int batch, class V, class I, class O, class U>
__device__ __forceinline__ warp_end<V, I> multiply_warp(V alpha, view<V, I, O> const& a, V const* x,
                                                        V beta, V* y, tiles_shape const& s, U at,
                                                        V* stage) {
  int const lane = threadIdx.x % 32;
  int const omega_bits = is_tile ? 5 : s.omega_bits;
  U const lanes = static_cast<U>(s.lanes);
  int const end_lane =
      is_tile || lanes - (at - lane) >= 32 ? 31 : static_cast<int>(lanes - (at - lane)) - 1;
  bool const is_there = is_tile || lane <= end_lane;
  int const sigma = steps != 0 ? steps : s.sigma;
  U const entry = ((at >> omega_bits) << omega_bits) * sigma + (at & ((1u << omega_bits) - 1));
  unsigned const word = is_there ? a.tile_desc[at] : 0;
  lane_rows<I, O> rows;
  if constexpr (!is_tile)
    rows = rows_of<is_tile>(a, s, at, word, end_lane);
  auto const [flags, is_cleared, before, ended] = flags_of<is_tile>(s, word, at, rows);
  int const segments = __shfl_sync(whole_warp, before + ended, 31) + 1;
  bool const is_staged = segments <= s.room;

  V sum = 0, lead = 0; // since the lane's last flag; until its first
  I const* const col = a.col + entry;
  V const* const val = a.val + entry;
  if (is_staged && is_there) {
    V* to = stage + before;
    sum =
        sum_lane<steps, batch>(col, val, x, 1 << omega_bits, sigma, flags, [&](V v) { *to++ = v; });
    lead = flags != 0 ? stage[before] : V(0);
  }
  if constexpr (is_tile)
    rows = rows_of<is_tile>(a, s, at, word, end_lane);

  row_writer<V, I, O> const out{alpha, beta, y, s.is_filled, rows};
  if (at == lane) // before the first entry
    out.fill(0, rows.first);
  if (rows.any_empty) { // rows in between are scaled, and their sums added
    out.fill(rows.first + 1, rows.next);
    __syncwarp();
  }
  // The row that ends with flag k of the lane's remaining flags.
  auto const ended_row = [&](int k) {
    return k == 0 ? rows.before
                  : rows.at(static_cast<int>(word >> (32 - s.y_bits)) + k + is_cleared - 1);
  };
  if (!is_staged && is_there) {
    int k = 0;
    sum = sum_lane<0, 4>(col, val, x, 1 << omega_bits, sigma, flags, [&](V v) {
      if (k == 0)
        lead = v;
      else
        out.put(ended_row(k), v);
      ++k;
    });
  }

  auto const [head, tail] = join_lanes(flags, sum, lead);
  bool const is_open = __shfl_sync(whole_warp, rows.last, end_lane) == rows.next;
  if (is_staged) {
    if (flags != 0)
      stage[before] = lead;
    if (lane == 31 && segments > 1)
      stage[segments - 1] = tail;
    __syncwarp();
    if (!rows.any_empty)
      for (int k = 1 + lane; k < segments - is_open; k += 32)
        update(y + rows.first + k, alpha, stage[k], beta);
    else if (is_tile)
      for (int k = 1 + lane; k < segments - is_open; k += 32)
        out.put(rows.at(k), stage[k]);
    else
      for (int k = before == 0; k < ended; ++k)
        out.put(ended_row(k), stage[before + k]);
  } else if (flags != 0 && before != 0) {
    out.put(rows.before, lead);
  }
  bool const is_put = is_staged && (is_tile || !rows.any_empty);
  if (!is_put && lane == end_lane && segments > 1 && !is_open)
    out.put(rows.last, tail);
  return {head, tail, rows.first, rows.next, segments == 1, is_open};
}

/// is_tile: omega is 32.
template <bool is_tile, int steps, int batch, class V, class I, class O>
__global__ void __launch_bounds__(threads, resident<I>)
    tiles_kernel(V alpha, view<V, I, O> a, V const* __restrict__ x, V beta, V* __restrict__ y,
                 tiles_shape s, block_ends<V> ends) {
  using U = std::make_unsigned_t<O>;
  extern __shared__ double raw[];
  __shared__ warp_end<V, I> of_warp[warps];
  auto* const sums = reinterpret_cast<V*>(raw);
  unsigned b = blockIdx.x;
  if (gridDim.x > s.blocks) { // the rest is slow for its size, so it comes first
    if (b == 0)
      return multiply_rest(alpha, a, x, beta, y, s, ends, sums);
    --b;
  }
  int const lane = threadIdx.x % 32;
  U const at = U{b} * threads + threadIdx.x; // lane of all
  if (at - lane < static_cast<U>(s.lanes)) {
    warp_end<V, I> const end = multiply_warp<is_tile, steps, batch>(
        alpha, a, x, beta, y, s, at, sums + threadIdx.x / 32 * s.room);
    if (lane == 0)
      of_warp[threadIdx.x / 32] = end;
  }
  __syncthreads();
  if (threadIdx.x < 32)
    join_warps(of_warp, b, alpha, a, beta, y, s, ends);
}

template <class V, class I, class O>
tiles_shape shape_of(view<V, I, O> const& a, plan_view const& p) {
  detail::csr5_bits const bits(a.omega, a.sigma);
  tiles_shape s;
  s.omega_bits = std::countr_zero(static_cast<unsigned>(a.omega));
  s.sigma = a.sigma;
  s.y_bits = bits.y;
  s.before = bits.y + bits.seg;
  s.room = static_cast<int>(p.info[0]);
  s.is_filled = p.info[1] != 0;
  s.lanes = static_cast<std::int64_t>(a.nnz) / (std::int64_t{a.omega} * a.sigma) * a.omega;
  s.blocks = ceil_div(s.lanes, std::int64_t{threads});
  return s;
}

template <class V, class I, class O>
long_rows<V, I, O> long_tiles_of(view<V, I, O> const& a) {
  return {a.rows, a.cols, a.nnz, a.row_ptr, a.col, a.val, a.tile_ptr, true};
}
template <class V, class I, class O>
bool is_long(view<V, I, O> const& a) {
  return a.omega == 32 && a.sigma == long_steps && are_long(a.rows, a.nnz);
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    refuse("csr5", "transposed products have no kernel; csr has one");
  p.method = "tiles";
  if (a.nnz == 0)
    return 0;
  if (is_long(a))
    return long_bytes(long_tiles_of(a), p);
  std::int64_t const entries = std::int64_t{32} * a.sigma;
  double const average = static_cast<double>(entries) * static_cast<double>(a.rows) / a.nnz;
  double const sums = room_factor * average + room_more;
  p.info[0] = sums < entries ? static_cast<std::int64_t>(sums) : entries;
  // A run of empty rows is filled by one warp, unless it is long.
  std::int64_t const n = std::int64_t{a.omega} * a.sigma;
  auto const tiles = static_cast<std::size_t>((a.nnz + n - 1) / n);
  auto const pointer = fetch(a.tile_ptr, tiles + 1, p.stream);
  std::make_unsigned_t<I> before = 0;
  p.info[1] = 0;
  for (auto const t : pointer) {
    auto const row = t & ~detail::csr5_mark<I>;
    if (row - before > most_empty_rows)
      p.info[1] = 1;
    before = row;
  }
  auto const blocks = static_cast<std::size_t>(shape_of(a, p).blocks) + 1; // plus one for the rest
  return blocks * (2 * sizeof(V) + sizeof(unsigned));
}

template <class V, class I, class O>
void fill(view<V, I, O> const& a, plan_view const& p) {
  if (a.nnz == 0)
    return;
  if (is_long(a))
    return fill_long(long_tiles_of(a), p);
  auto const blocks = static_cast<std::size_t>(shape_of(a, p).blocks) + 1;
  TULLE_CUDA(cudaMemsetAsync, p.work, 0, blocks * (2 * sizeof(V) + sizeof(unsigned)),
             static_cast<cudaStream_t>(p.stream));
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p,
          void* stream) {
  if (is_long(a))
    return multiply_long(alpha, long_tiles_of(a), x, beta, y, p, stream);
  tiles_shape const s = shape_of(a, p);
  if (a.nnz == 0 || s.is_filled) {
    scale(beta, y, static_cast<std::size_t>(a.rows), stream);
    if (a.nnz == 0)
      return;
    beta = beta == V(0) ? V(0) : V(1);
  }
  std::int64_t const rest = a.nnz - s.lanes * s.sigma;
  std::int64_t const values = s.blocks == 0 || rest > warps * s.room ? rest : warps * s.room;
  auto const go = [&](auto kernel) {
    launch_shared(kernel, static_cast<std::size_t>(s.blocks + (rest > 0)), threads,
                  static_cast<std::size_t>(values) * sizeof(V), stream, alpha, a, x, beta, y, s,
                  ends_at<V>(p.work, static_cast<std::size_t>(s.blocks) + 1));
  };
  if (a.omega != 32)
    return go(tiles_kernel<false, 0, few_steps, V, I, O>);
  if (a.sigma == 16) // as most matrices have
    return go(tiles_kernel<true, 16, many_steps, V, I, O>);
  go(tiles_kernel<true, 0, few_steps, V, I, O>);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(csr5)

} // namespace tulle::kernels::cuda
