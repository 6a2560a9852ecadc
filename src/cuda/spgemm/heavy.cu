// SPDX-License-Identifier: Apache-2.0

// Few rows of C with many products in a window of columns: the long rows of a small graph, for
// which a warp would take one row of B after the other long after all other rows are done. Here a
// block has the products of many rows of B at once, and a sum for each column of the window.
// Products of the same column take turns, in the order of A's row.
#include "cuda/cub.cuh"
#include "cuda/spgemm/heavy.cuh"
#include "cuda/spgemm/short.cuh"
#include "cuda/types.hpp"

namespace tulle::kernels::cuda {
namespace {

// rmat of 2^10, 2^12, 2^13 and 2^14 rows on an H200 with memory kept, ms: .32 .52 .82 1.59, with
// 256 threads .34 .57 .93 1.91, with 1024 .35 .54 .83 1.59; all windows .57 1.48 2.33 4.30.
constexpr int heavy_threads = 512;
constexpr int heavy_warps = heavy_threads / 32;
// At most this many, or an eighth of the rows if that is at most many_heavy: two blocks per
// multiprocessor are few where all rows are long.
constexpr std::size_t few_heavy = 2 * 132, many_heavy = 8 * 132;
constexpr int in_flight = 4;      // columns per thread
constexpr unsigned rounds = 4096; // until the claims are reset
constexpr unsigned unclaimed = ~0u, claimed = ~0u - 1;
static_assert(rounds * heavy_threads <= claimed);

template <class I>
struct extent_room {
  extent<I> of_warp[heavy_warps];
};
/// The columns that C's row may have; computed by a block.
template <class I, class O>
__device__ extent<I> columns_of(O begin, O end, pattern<I, O> const& a, pattern<I, O> const& b,
                                extent_room<I>& room) {
  int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  O const share = (end - begin + heavy_warps - 1) / heavy_warps;
  O const from = begin + min(static_cast<O>(warp) * share, end - begin);
  extent<I> const e = columns_of(from, from + min(share, end - from), a, b, lane);
  if (lane == 0)
    room.of_warp[warp] = e;
  __syncthreads();
  extent<I> all = room.of_warp[0];
  for (int w = 1; w < heavy_warps; ++w)
    all = {min(all.low, room.of_warp[w].low), max(all.high, room.of_warp[w].high)};
  return all;
}

/// One block per row. Shared memory: one bit per column.
template <class I, class O>
__global__ void __launch_bounds__(heavy_threads)
    heavy_count_kernel(pattern<I, O> a, pattern<I, O> b, I const* list, O* counts) {
  extern __shared__ unsigned heavy_bits[];
  __shared__ terms_room<heavy_threads, char, O> room;
  __shared__ extent_room<I> extents;
  int const t = threadIdx.x;
  I const i = list[blockIdx.x];
  O const begin = a.ptr[i], end = a.ptr[i + 1];
  extent<I> const e = columns_of(begin, end, a, b, extents);
  auto const words = static_cast<unsigned>(e.words());
  for (unsigned k = t; k < words; k += heavy_threads)
    heavy_bits[k] = 0;
  each_chunk<heavy_threads, false>(
      begin, end, a, static_cast<char const*>(nullptr), b, room, [&](int products) {
        for (int first = t; first < products; first += heavy_threads * in_flight) {
          I column[in_flight];
#pragma unroll
          for (int u = 0; u < in_flight; ++u) {
            int const q = first + u * heavy_threads;
            column[u] = q < products ? b.col[room.start[row_of(room, q)] + q] : I(-1);
          }
#pragma unroll
          for (int u = 0; u < in_flight; ++u) {
            if (column[u] < 0)
              continue;
            // Neighbouring columns, which mostly come together, are in different words.
            auto const j = static_cast<unsigned>(column[u] - e.low);
            unsigned const bit = 1u << j / words;
            if ((heavy_bits[j % words] & bit) == 0)
              atomicOr(heavy_bits + j % words, bit);
          }
        }
      });
  int n = 0;
  for (unsigned k = t; k < words; k += heavy_threads)
    n += __popc(heavy_bits[k]);
  n = block_reduce<heavy_threads>(n, room.scan);
  if (t == 0)
    counts[i] = n;
}

template <class V, class I, class O>
struct heavy_room {
  terms_room<heavy_threads, V, O> terms;
  extent_room<I> extents;
};

/// Values, and columns if wanted. Shared memory: one sum and one claim per column. The next
/// products are loaded while the current ones are added.
template <class V, class I, class O>
__global__ void __launch_bounds__(heavy_threads)
    heavy_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                      I const* list, O const* c_ptr, I* c_col, V* c_val, bool with_columns,
                      int most) {
  extern __shared__ double2 heavy_memory[];
  auto& memory = *reinterpret_cast<heavy_room<V, I, O>*>(heavy_memory);
  auto& room = memory.terms;
  V* const sum = reinterpret_cast<V*>(&memory + 1);
  auto* const claim = reinterpret_cast<unsigned*>(sum + most);
  int const t = threadIdx.x, lane = t % 32, warp = t / 32;
  I const i = list[blockIdx.x];
  O const begin = a.ptr[i], end = a.ptr[i + 1];
  extent<I> const e = columns_of(begin, end, a, b, memory.extents);
  int const width = static_cast<int>(e.high - e.low) + 1;
  for (int k = t; k < width; k += heavy_threads) {
    sum[k] = nothing<V>();
    claim[k] = unclaimed;
  }
  unsigned round = rounds;
  each_chunk<heavy_threads, true>(begin, end, a, a_val, b, room, [&](int products) {
    I column = 0;
    V factor = V(0), x = V(0);
    auto const load = [&](int q) {
      if (q >= products)
        return;
      int const r = row_of(room, q);
      O const k = room.start[r] + q;
      column = b.col[k];
      x = b_val[k];
      factor = room.factor[r];
    };
    load(t);
    for (int first = 0; first < products; first += heavy_threads) {
      bool const has_product = first + t < products;
      int const to = has_product ? static_cast<int>(column - e.low) : 0;
      V const product = factor * x;
      load(first + heavy_threads + t);
      add_in_turns<heavy_threads>(has_product, to, product, claim, round, sum, [&] {
        if (round != 0)
          return;
        for (int k = t; k < width; k += heavy_threads)
          if (claim[k] != unclaimed)
            claim[k] = claimed;
        round = rounds;
        __syncthreads();
      });
    }
  });
  O const at = c_ptr[i];
  if (!with_columns) {
    int const n = static_cast<int>(c_ptr[i + 1] - at);
    for (int k = t; k < n; k += heavy_threads)
      (c_val + at)[k] = sum[static_cast<int>((c_col + at)[k] - e.low)];
    return;
  }
  // One share of the columns per warp.
  int const share = (width + heavy_threads - 1) / heavy_threads * 32;
  int const from = min(warp * share, width), stop = min(from + share, width);
  int n = 0;
  for (int k = from + lane; k < stop; k += 32)
    n += claim[k] != unclaimed;
  int place = block_exclusive_scan<heavy_threads>(n, room.scan);
  place = __shfl_sync(whole_warp, place, 0);
  for (int first = from; first < stop; first += 32) {
    int const k = first + lane;
    bool const is_there = k < stop && claim[k] != unclaimed;
    unsigned const there = __ballot_sync(whole_warp, is_there);
    if (is_there) {
      O const to = at + place + __popc(there & ((1u << lane) - 1));
      c_col[to] = e.low + k;
      c_val[to] = sum[k];
    }
    place += __popc(there);
  }
}

/// Columns of the widest row; a multiple of two.
int most_columns(product_state const& p) {
  return static_cast<int>(ceil_div(p.all.widest_heavy, 2ull) * 2);
}
template <class V, class I, class O>
std::size_t heavy_bytes(product_state const& p) {
  return sizeof(heavy_room<V, I, O>) +
         static_cast<std::size_t>(most_columns(p)) * (sizeof(V) + sizeof(unsigned));
}

} // namespace

template <class V, class I, class O>
bool takes_heavy(product_state const& p, std::size_t rows) {
  if (rows_in(p, row_bin::heavy) > std::max(few_heavy, std::min(many_heavy, rows / 8)))
    return false;
  int device = 0, most = 0;
  TULLE_CUDA(cudaGetDevice, &device);
  TULLE_CUDA(cudaDeviceGetAttribute, &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  return heavy_bytes<V, I, O>(p) <= static_cast<std::size_t>(most);
}

template <class I, class O>
void count_heavy(product_state const& p, pattern<I, O> const& a, pattern<I, O> const& b,
                 O* counts) {
  launch_shared(heavy_count_kernel<I, O>, rows_in(p, row_bin::heavy), heavy_threads,
                ceil_div(p.all.widest_heavy, 1024ull) * 32 * sizeof(unsigned), p.stream, a, b,
                listed<I>(p, row_bin::heavy), counts);
}

template <class V, class I, class O>
void fill_heavy(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                O const* c_ptr, I* c_col, V* c_val, bool with_columns) {
  launch_shared(heavy_fill_kernel<V, I, O>, rows_in(p, row_bin::heavy), heavy_threads,
                heavy_bytes<V, I, O>(p), p.stream, a, a.val, b, b.val, listed<I>(p, row_bin::heavy),
                c_ptr, c_col, c_val, with_columns, most_columns(p));
}

#define TULLE_COUNT_HEAVY(I, O)                                                                    \
  template void count_heavy(product_state const&, pattern<I, O> const&, pattern<I, O> const&, O*);
TULLE_COUNT_HEAVY(std::int32_t, std::uint32_t)
TULLE_COUNT_HEAVY(std::int64_t, std::uint64_t)
TULLE_COUNT_HEAVY(std::int32_t, std::uint64_t)
#define TULLE_FILL_HEAVY(tag, V, I, O)                                                             \
  template bool takes_heavy<V, I, unsigned_t<O>>(product_state const&, std::size_t);               \
  template void fill_heavy(product_state const&, operand<V, I, unsigned_t<O>> const&,              \
                           operand<V, I, unsigned_t<O>> const&, unsigned_t<O> const*, I*, V*,      \
                           bool);
TULLE_KERNEL_TYPES(TULLE_FILL_HEAVY)

} // namespace tulle::kernels::cuda
