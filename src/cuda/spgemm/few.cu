// SPDX-License-Identifier: Apache-2.0

// Rows of C with up to 256 products of at most 32 rows of B, in any columns: one warp each, eight
// products per lane. A hash table keeps each column once, which suffices for counting; to fill, the
// columns are sorted, and products find their place by a search. 32 products are added at a time,
// in the order of A's row: of those with the same place, the first lane adds all.
#include "cuda/primitive/bitonic.cuh"
#include "cuda/spgemm/few.cuh"
#include "cuda/spgemm/short.cuh"
#include "cuda/spgemm/table.cuh"
#include "cuda/types.hpp"

#include <limits>

namespace tulle::kernels::cuda {
namespace {

constexpr int few_threads = 32; // a block is one warp, so __syncthreads() synchronizes only that
constexpr int a_lane = short_s / few_threads;

template <class I, class O>
__global__ void __launch_bounds__(few_threads)
    few_count_kernel(pattern<I, O> a, pattern<I, O> b, I const* list, O* counts) {
  __shared__ hash_table<short_s, I> table;
  __shared__ terms_room<few_threads, char, O> room;
  I const i = list[blockIdx.x];
  int const lane = threadIdx.x;
  table.template clear<few_threads>();
  int n = 0;
  each_chunk<few_threads, false>(
      a.ptr[i], a.ptr[i + 1], a, static_cast<char const*>(nullptr), b, room, [&](int products) {
        I column[a_lane];
#pragma unroll
        for (int u = 0; u < a_lane; ++u) {
          int const q = u * 32 + lane;
          column[u] = q < products ? b.col[room.start[row_of(room, q)] + q] : I(-1);
        }
#pragma unroll
        for (int u = 0; u < a_lane; ++u)
          if (column[u] >= 0) {
            bool is_new = false;
            table.slot(column[u], is_new);
            n += is_new;
          }
      });
  n = reduce<32>(n);
  if (lane == 0)
    counts[i] = n;
}

template <class V, class I, class O>
__global__ void __launch_bounds__(few_threads)
    few_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val, I const* list,
                    O const* c_ptr, I* c_col, V* c_val, bool with_columns) {
  __shared__ union {
    hash_table<short_s, I> table;
    struct {
      V product[short_s], sum[short_s];
    };
  } room;
  __shared__ terms_room<few_threads, V, O> terms;
  __shared__ I key[short_s]; // C's columns
  I const i = list[blockIdx.x];
  int const lane = threadIdx.x;
  O const at = c_ptr[i];
  int const n = static_cast<int>(c_ptr[i + 1] - at);
  if (with_columns)
    room.table.template clear<few_threads>();
  I column[a_lane];
  V product[a_lane];
  int products = 0;
  each_chunk<few_threads, true>(
      a.ptr[i], a.ptr[i + 1], a, a_val, b, terms, [&](int of_chunk) { // there is one
        products = of_chunk;
#pragma unroll
        for (int u = 0; u < a_lane; ++u) {
          int const q = u * 32 + lane, r = q < products ? row_of(terms, q) : 0;
          column[u] = q < products ? b.col[terms.start[r] + q] : I(-1);
          product[u] = q < products ? terms.factor[r] * b_val[terms.start[r] + q] : V(0);
        }
      });
  if (with_columns) {
    int used = 0;
#pragma unroll
    for (int u = 0; u < a_lane; ++u) {
      bool is_new = false;
      if (column[u] >= 0)
        room.table.slot(column[u], is_new);
      unsigned const come = __ballot_sync(whole_warp, is_new);
      if (is_new)
        key[used + __popc(come & ((1u << lane) - 1))] = column[u];
      used += __popc(come);
    }
    int const all = power_of_two(n);
    for (int k = n + lane; k < all; k += 32)
      key[k] = std::numeric_limits<I>::max();
    bitonic_sort<few_threads>(key, all);
    for (int k = lane; k < n; k += 32)
      c_col[at + k] = key[k];
  } else {
    for (int k = lane; k < n; k += 32)
      key[k] = c_col[at + k];
    __syncthreads();
  }
  for (int k = lane; k < n; k += 32)
    room.sum[k] = nothing<V>();
  int place[a_lane];
#pragma unroll
  for (int u = 0; u < a_lane; ++u) {
    room.product[u * 32 + lane] = product[u];
    place[u] = column[u] >= 0 ? lower_bound(static_cast<I const*>(key), n, column[u]) : -1 - lane;
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < a_lane; ++u)
    if (u * 32 < products) {
      unsigned left = __match_any_sync(whole_warp, place[u]);
      if (place[u] >= 0 && (left & ((1u << lane) - 1)) == 0) {
        V sum = room.sum[place[u]];
        for (; left != 0; left &= left - 1)
          sum = sum + room.product[u * 32 + __ffs(static_cast<int>(left)) - 1];
        room.sum[place[u]] = sum;
      }
      __syncthreads();
    }
  for (int k = lane; k < n; k += 32)
    c_val[at + k] = room.sum[k];
}

} // namespace

template <class I, class O>
void count_few(product_state const& p, pattern<I, O> const& a, pattern<I, O> const& b, O* counts) {
  launch(few_count_kernel<I, O>, rows_in(p, row_bin::short_s), few_threads, p.stream, a, b,
         listed<I>(p, row_bin::short_s), counts);
}

template <class V, class I, class O>
void fill_few(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
              O const* c_ptr, I* c_col, V* c_val, bool with_columns) {
  launch(few_fill_kernel<V, I, O>, rows_in(p, row_bin::short_s), few_threads, p.stream, a, a.val, b,
         b.val, listed<I>(p, row_bin::short_s), c_ptr, c_col, c_val, with_columns);
}

#define TULLE_COUNT_FEW(I, O)                                                                      \
  template void count_few(product_state const&, pattern<I, O> const&, pattern<I, O> const&, O*);
TULLE_COUNT_FEW(std::int32_t, std::uint32_t)
TULLE_COUNT_FEW(std::int64_t, std::uint64_t)
TULLE_COUNT_FEW(std::int32_t, std::uint64_t)
#define TULLE_FILL_FEW(tag, V, I, O)                                                               \
  template void fill_few(product_state const&, operand<V, I, unsigned_t<O>> const&,                \
                         operand<V, I, unsigned_t<O>> const&, unsigned_t<O> const*, I*, V*, bool);
TULLE_KERNEL_TYPES(TULLE_FILL_FEW)

} // namespace tulle::kernels::cuda
