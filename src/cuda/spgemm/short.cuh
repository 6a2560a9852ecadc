// SPDX-License-Identifier: Apache-2.0

// Rows of C with up to 4096 products, one block each: the common parts of their methods.
#pragma once
#include "cuda/primitive/block.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/spgemm/sorted.cuh"

namespace tulle::kernels::cuda {
namespace {

/// A chunk of a row of A, one entry per thread, and where B's rows begin among its products.
template <int threads, class V, class O>
struct terms_room {
  O start[threads];        // entry of B, minus the products before
  int before[threads + 1]; // products
  V factor[threads];
  block_room<int> scan;
};

/// Calls f(chunk of A's row, its products) for each chunk, once `room` is filled for all threads.
template <int threads, bool has_values, class V, class I, class O, class F>
__device__ void each_chunk(O begin, O end, pattern<I, O> const& a, V const* a_val,
                           pattern<I, O> const& b, terms_room<threads, V, O>& room, F f) {
  int const t = threadIdx.x;
  for (O chunk = begin; chunk < end; chunk += threads) {
    O from = 0;
    int length = 0;
    if (chunk + t < end) {
      I const j = a.col[chunk + t];
      from = b.ptr[j];
      length = static_cast<int>(b.ptr[j + 1] - from);
      if (has_values)
        room.factor[t] = a_val[chunk + t];
    }
    int const before = block_exclusive_scan<threads>(length, room.scan);
    room.start[t] = from - before;
    room.before[t] = before;
    if (t == threads - 1)
      room.before[threads] = before + length;
    __syncthreads();
    f(room.before[threads]);
    __syncthreads();
  }
}
/// The number, in the chunk, of the row of B that product q is of. That row is not empty: the next
/// one begins later.
template <int threads, class V, class O>
__device__ int row_of(terms_room<threads, V, O> const& room, int q) {
  return upper_bound(room.before, threads, q) - 1;
}

/// Adds each product of a chunk to sum[place(column)], one row of B after the other: within a row
/// all places differ.
template <int threads, class V, class I, class O, class F>
__device__ void add_products(terms_room<threads, V, O> const& room, int products,
                             pattern<I, O> const& b, V const* b_val, V* sum, F place) {
  for (int first = 0; first < products; first += threads) {
    int const q = first + static_cast<int>(threadIdx.x);
    int const last = min(first + threads, products) - 1;
    int mine = -1, to = 0;
    V product = V(0);
    if (q <= last) {
      mine = row_of(room, q);
      O const k = room.start[mine] + q;
      to = place(b.col[k]);
      product = room.factor[mine] * b_val[k];
    }
    int const to_row = row_of(room, last);
    for (int r = row_of(room, first); r <= to_row; ++r) {
      if (room.before[r] == room.before[r + 1])
        continue;
      if (mine == r)
        sum[to] = sum[to] + product;
      __syncthreads();
    }
  }
}

/// Adds a product to sum[to] for each thread that has one. Of those with the same place the first
/// adds, and the others try again: claims decrease from turn to turn, and earlier threads have
/// lower ones. before() is called before each turn.
template <int threads, class V, class F>
__device__ void add_in_turns(bool has_product, int to, V product, unsigned* claim, unsigned& round,
                             V* sum, F before) {
  do {
    before();
    unsigned const mine = --round * threads + threadIdx.x;
    if (has_product)
      atomicMin(claim + to, mine);
    __syncthreads();
    if (has_product && claim[to] == mine) {
      sum[to] = sum[to] + product;
      has_product = false;
    }
  } while (__syncthreads_or(has_product));
}

/// Calls f(threads, items, rows, list of them), the first two known to the compiler, if the bin has
/// rows.
template <int threads, int items, class I, class F>
void in_bin(product_state const& p, row_bin which, F&& f) {
  if (rows_in(p, which) != 0)
    f(std::integral_constant<int, threads>(), std::integral_constant<int, items>(),
      rows_in(p, which), listed<I>(p, which));
}
template <class I, class F>
void each_sorted_bin(product_state const& p, sorted_bins which, F&& f) {
  in_bin<128, 8, I>(p, which.m, f);
  in_bin<512, 8, I>(p, which.l, f);
}
template <class I, class F>
void each_short_bin(product_state const& p, F&& f) {
  in_bin<64, 4, I>(p, row_bin::short_s, f);
  each_sorted_bin<I>(p, of_short_terms, f);
}
static_assert(short_s == 64 * 4 && short_m == 128 * 8 && short_l == 512 * 8);

} // namespace
} // namespace tulle::kernels::cuda
