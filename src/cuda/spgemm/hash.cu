// SPDX-License-Identifier: Apache-2.0

// Rows of C with up to 4096 products by a hash table of columns in shared memory, if asked for.
// Sums are stored with their columns, one row of B is added after the other, and finally the
// columns are sorted.
#include "cuda/primitive/bitonic.cuh"
#include "cuda/spgemm/forced.cuh"
#include "cuda/spgemm/short.cuh"
#include "cuda/spgemm/table.cuh"
#include "cuda/types.hpp"

namespace tulle::kernels::cuda {
namespace {

template <int threads, int most, class I, class O>
struct hash_count_room {
  hash_table<most, I> table;
  terms_room<threads, char, O> terms;
};
template <int threads, int most, class V, class I, class O>
struct hash_fill_room {
  union {
    hash_table<most, I> table;
    unsigned long long key[most]; // column, then slot, once all products are added
  };
  terms_room<threads, V, O> terms;
  V sum[2 * most];
  int used;
};

template <int threads, int most, class I, class O>
__global__ void __launch_bounds__(threads)
    hash_count_kernel(pattern<I, O> a, pattern<I, O> b, I const* list, O* counts) {
  extern __shared__ double2 short_room[];
  auto& room = *reinterpret_cast<hash_count_room<threads, most, I, O>*>(short_room);
  I const i = list[blockIdx.x];
  room.table.template clear<threads>();
  int n = 0;
  each_chunk<threads, false>(a.ptr[i], a.ptr[i + 1], a, static_cast<char const*>(nullptr), b,
                             room.terms, [&](int products) {
                               for (int q = threadIdx.x; q < products; q += threads) {
                                 bool is_new = false;
                                 room.table.slot(b.col[room.terms.start[row_of(room.terms, q)] + q],
                                                 is_new);
                                 n += is_new;
                               }
                             });
  n = block_reduce<threads>(n, room.terms.scan);
  if (threadIdx.x == 0)
    counts[i] = n;
}

template <int threads, int most, class V, class I, class O>
__global__ void __launch_bounds__(threads)
    hash_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                     I const* list, O const* c_ptr, I* c_col, V* c_val) {
  extern __shared__ double2 short_room[];
  auto& room = *reinterpret_cast<hash_fill_room<threads, most, V, I, O>*>(short_room);
  I const i = list[blockIdx.x];
  room.table.template clear<threads>();
  for (int k = threadIdx.x; k < 2 * most; k += threads)
    room.sum[k] = nothing<V>();
  if (threadIdx.x == 0)
    room.used = 0;
  each_chunk<threads, true>(a.ptr[i], a.ptr[i + 1], a, a_val, b, room.terms, [&](int products) {
    add_products<threads>(room.terms, products, b, b_val, room.sum, [&](I column) {
      bool is_new = false;
      return room.table.slot(column, is_new);
    });
  });
  // The keys overwrite the table.
  constexpr int slots = 2 * most / threads;
  using word = typename hash_table<most, I>::word;
  word column[slots];
#pragma unroll
  for (int u = 0; u < slots; ++u)
    column[u] = room.table.column[threadIdx.x + u * threads];
  __syncthreads();
#pragma unroll
  for (int u = 0; u < slots; ++u)
    if (column[u] != hash_table<most, I>::none)
      room.key[atomicAdd(&room.used, 1)] = key_of(column[u], threadIdx.x + u * threads);
  __syncthreads();
  int const n = room.used, all = power_of_two(n);
  for (int k = n + threadIdx.x; k < all; k += threads)
    room.key[k] = ~0ull;
  bitonic_sort<threads>(room.key, all);
  O const at = c_ptr[i];
  for (int k = threadIdx.x; k < n; k += threads) {
    c_col[at + k] = static_cast<I>(key_column(room.key[k]));
    c_val[at + k] = room.sum[key_place(room.key[k])];
  }
}

} // namespace

template <class V, class I, class O>
void count_hash(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                O* counts) {
  each_short_bin<I>(p, [&](auto threads, auto items, std::size_t rows, I const* list) {
    constexpr int most = threads() * items();
    launch_shared(hash_count_kernel<threads(), most, I, O>, rows, threads(),
                  sizeof(hash_count_room<threads(), most, I, O>), p.stream, a, b, list, counts);
  });
}

template <class V, class I, class O>
void fill_hash(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
               O* c_ptr, I* c_col, V* c_val) {
  check_keys("hash", b.cols);
  each_short_bin<I>(p, [&](auto threads, auto items, std::size_t rows, I const* list) {
    constexpr int most = threads() * items();
    launch_shared(hash_fill_kernel<threads(), most, V, I, O>, rows, threads(),
                  sizeof(hash_fill_room<threads(), most, V, I, O>), p.stream, a, a.val, b, b.val,
                  list, c_ptr, c_col, c_val);
  });
}

#define TULLE_HASH(tag, V, I, O) TULLE_FORCED(hash, V, I, unsigned_t<O>)
TULLE_KERNEL_TYPES(TULLE_HASH)

} // namespace tulle::kernels::cuda
