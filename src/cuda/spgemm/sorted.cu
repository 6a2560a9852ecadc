// SPDX-License-Identifier: Apache-2.0

// Rows of C with 257 to 4096 products in any columns: the default. A hash table in shared memory
// keeps each column once, which suffices for counting; to write columns, they are sorted. The
// number of columns of C does not matter, unlike with a bitmap.
//
// Then values are added; a search in the row's columns finds the place of each. A block has the
// products of many rows of B at once, and those with the same place take turns. In long rows, where
// this is frequent, two warps take one row of B after the other, as for windows.
//
// Liu, thesis 2015, sec. 9.4: the expand-sort-compress bins, there with bitonic networks and
// values; here CUB sorts columns alone.
#include "cuda/primitive/block.cuh"
#include "cuda/spgemm/short.cuh"
#include "cuda/spgemm/sorted.cuh"
#include "cuda/spgemm/table.cuh"
#include "cuda/spgemm/window.cuh"
#include "cuda/types.hpp"

#include <bit>
#include <cub/block/block_radix_sort.cuh>

namespace tulle::kernels::cuda {
namespace {

constexpr int in_flight = 4; // columns per thread
// Long rows take two warps each if there are at least so many: fewer do not fill the device. All
// rows by blocks with claims, and rows whose rows of B have 12 or more entries by two warps, ms on
// an H200 with memory kept: hood 25.6, 20.9; pwtk 28.0, 20.3; but mono_500Hz 8.8, 9.3; cage12 1.88,
// 2.11; webbase 1.16, 1.46.
constexpr std::size_t many_rows = 4096;

/// Rows in a list, each as a group of one row.
template <class I>
struct single_rows {
  I const* list;
  __device__ window_group<I> operator[](std::size_t k) const { return {list[k], I(1)}; }
};

template <int threads, int items, bool writes, class I, class O>
struct sorted_room {
  using key_type = std::make_unsigned_t<I>;
  terms_room<threads, char, O> terms;
  template <int of_thread>
  using sorter = cub::BlockRadixSort<key_type, threads, of_thread>;
  union {
    hash_table<threads * items, I> table;
    typename sorter<2>::TempStorage sorting_few;
    typename sorter<items>::TempStorage sorting;
  };
  key_type key[writes ? threads * items : 1];
  int used;
};

/// Sorts key[0..n), at most `items` per thread, into c_col.
template <int threads, int items, class K, class I>
__device__ void write_in_order(K const* keys, int n, int bits,
                               typename cub::BlockRadixSort<K, threads, items>::TempStorage& room,
                               I* c_col) {
  int const first = threadIdx.x * items;
  K key[items];
#pragma unroll
  for (int k = 0; k < items; ++k) // what is beyond n is dropped: it is greatest, hence last
    key[k] = first + k < n ? keys[first + k] : static_cast<K>(-1);
  cub::BlockRadixSort<K, threads, items>(room).Sort(key, 0, bits);
#pragma unroll
  for (int k = 0; k < items; ++k)
    if (first + k < n)
      c_col[first + k] = static_cast<I>(key[k]);
}

/// Counts rows of C, or writes their columns once C is allocated. One block per row. The counts are
/// recorded in `found` if that is not nullptr.
template <int threads, int items, bool writes, class I, class O>
__global__ void __launch_bounds__(threads)
    sorted_kernel(pattern<I, O> a, pattern<I, O> b, I const* list, int bits, O* counts, bool notes,
                  window_found* found, I* c_col) {
  using room_type = sorted_room<threads, items, writes, I, O>;
  using key_type = typename room_type::key_type;
  extern __shared__ double2 sorted_memory[];
  auto& room = *reinterpret_cast<room_type*>(sorted_memory);
  int const t = threadIdx.x;
  I const i = list[blockIdx.x];
  room.table.template clear<threads>();
  if (t == 0)
    room.used = 0;
  __syncthreads();
  int n = 0;
  each_chunk<threads, false>(
      a.ptr[i], a.ptr[i + 1], a, static_cast<char const*>(nullptr), b, room.terms,
      [&](int products) {
        for (int first = t; first < products; first += threads * in_flight) {
          I column[in_flight];
#pragma unroll
          for (int u = 0; u < in_flight; ++u) {
            int const q = first + u * threads;
            column[u] = q < products ? b.col[room.terms.start[row_of(room.terms, q)] + q] : I(-1);
          }
#pragma unroll
          for (int u = 0; u < in_flight; ++u) {
            bool is_new = false;
            if (column[u] >= 0)
              room.table.slot(column[u], is_new);
            n += is_new;
            if (writes && is_new)
              room.key[atomicAdd(&room.used, 1)] = static_cast<key_type>(column[u]);
          }
        }
      });
  if constexpr (writes) {
    __syncthreads();
    n = room.used;
    I* const to = c_col + counts[i];
    // With a bitonic sort for so few hood took 25.0 ms, in another run and with other sizes of
    // CUB's sort; 20.9 this way.
    if (n <= 2 * threads)
      write_in_order<threads, 2>(room.key, n, bits, room.sorting_few, to);
    else
      write_in_order<threads, items>(room.key, n, bits, room.sorting, to);
  } else {
    n = block_reduce<threads>(n, room.terms.scan);
    if (t == 0) {
      counts[i] = n;
      if (notes)
        note(found, n);
    }
  }
}

/// Adds each product of a chunk to sum[place(column)], in the order of A's row.
template <int threads, class V, class I, class O, class F>
__device__ void add_by_claims(terms_room<threads, V, O> const& room, int products,
                              pattern<I, O> const& b, V const* b_val, unsigned* claim,
                              unsigned& round, V* sum, F place) {
  for (int q = threadIdx.x; q - static_cast<int>(threadIdx.x) < products; q += threads) {
    bool const has_product = q < products;
    int to = 0;
    V product = V(0);
    if (has_product) {
      int const r = row_of(room, q);
      O const k = room.start[r] + q;
      to = place(b.col[k]);
      product = room.factor[r] * b_val[k];
    }
    add_in_turns<threads>(has_product, to, product, claim, round, sum, [] {});
  }
}

template <int threads, int most, class V, class I, class O>
struct claims_room {
  terms_room<threads, V, O> terms;
  V sum[most];
  I col[most];
  unsigned claim[most];
};

/// C's values, once its columns are known. One block per row.
template <int threads, int most, class V, class I, class O>
__global__ void __launch_bounds__(threads)
    sorted_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                       I const* list, O const* c_ptr, I const* c_col, V* c_val) {
  extern __shared__ double2 sorted_memory[];
  auto& room = *reinterpret_cast<claims_room<threads, most, V, I, O>*>(sorted_memory);
  I const i = list[blockIdx.x];
  O const at = c_ptr[i], begin = a.ptr[i], end = a.ptr[i + 1];
  int const n = static_cast<int>(c_ptr[i + 1] - at);
  for (int k = threadIdx.x; k < n; k += threads) {
    room.sum[k] = nothing<V>();
    room.col[k] = c_col[at + k];
    room.claim[k] = ~0u;
  }
  unsigned round = most + 1; // one product per thread is added in each round
  each_chunk<threads, true>(begin, end, a, a_val, b, room.terms, [&](int products) {
    add_by_claims<threads>(room.terms, products, b, b_val, room.claim, round, room.sum,
                           [&](I column) { return lower_bound(room.col, n, column); });
  });
  for (int k = threadIdx.x; k < n; k += threads)
    c_val[at + k] = room.sum[k];
}

template <bool writes, class I, class O>
void run_sorted(product_state const& p, sorted_bins which, pattern<I, O> const& a,
                pattern<I, O> const& b, O* counts, window_found* found, I* c_col) {
  int const bits = std::max(
      1, static_cast<int>(std::bit_width(static_cast<std::make_unsigned_t<I>>(b.cols - 1))));
  each_sorted_bin<I>(p, which, [&](auto threads, auto items, std::size_t rows, I const* list) {
    launch_shared(sorted_kernel<threads(), items(), writes, I, O>, rows, threads(),
                  sizeof(sorted_room<threads(), items(), writes, I, O>), p.stream, a, b, list, bits,
                  counts, found != nullptr, found, c_col);
  });
}

template <class V, class I, class O>
void fill_long(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
               O const* c_ptr, I const* c_col, V* c_val) {
  single_rows<I> const rows{listed<I>(p, row_bin::long_m)};
  for (int which = 0; which < window_classes; ++which)
    if (p.longs.is_there[which] != 0)
      fill_class<1, 1, 4, plus_times, by_search<I>>(p, rows, long_rows(p), 1, p.longs, which, a, b,
                                                    c_ptr, c_col, c_val);
}

} // namespace

template <class I, class O>
void count_sorted(product_state const& p, sorted_bins which, pattern<I, O> const& a,
                  pattern<I, O> const& b, O* counts, window_found* found) {
  run_sorted<false>(p, which, a, b, counts, found, static_cast<I*>(nullptr));
}
template <class I, class O>
void write_sorted_columns(product_state const& p, sorted_bins which, pattern<I, O> const& a,
                          pattern<I, O> const& b, O* c_ptr, I* c_col) {
  run_sorted<true>(p, which, a, b, c_ptr, nullptr, c_col);
}

template <class V, class I, class O>
void fill_sorted(product_state const& p, sorted_bins which, operand<V, I, O> const& a,
                 operand<V, I, O> const& b, O const* c_ptr, I const* c_col, V* c_val) {
  if (which.m == row_bin::long_m && long_rows(p) >= many_rows)
    return fill_long(p, a, b, c_ptr, c_col, c_val);
  each_sorted_bin<I>(p, which, [&](auto threads, auto items, std::size_t rows, I const* list) {
    constexpr int most = threads() * items();
    launch_shared(sorted_fill_kernel<threads(), most, V, I, O>, rows, threads(),
                  sizeof(claims_room<threads(), most, V, I, O>), p.stream, a, a.val, b, b.val, list,
                  c_ptr, c_col, c_val);
  });
}

#define TULLE_SORTED(I, O)                                                                         \
  template void count_sorted(product_state const&, sorted_bins, pattern<I, O> const&,              \
                             pattern<I, O> const&, O*, window_found*);                             \
  template void write_sorted_columns(product_state const&, sorted_bins, pattern<I, O> const&,      \
                                     pattern<I, O> const&, O*, I*);
TULLE_SORTED(std::int32_t, std::uint32_t)
TULLE_SORTED(std::int64_t, std::uint64_t)
TULLE_SORTED(std::int32_t, std::uint64_t)
#define TULLE_FILL_SORTED(tag, V, I, O)                                                            \
  template void fill_sorted(                                                                       \
      product_state const&, sorted_bins, operand<V, I, unsigned_t<O>> const&,                      \
      operand<V, I, unsigned_t<O>> const&, unsigned_t<O> const*, I const*, V*);
TULLE_KERNEL_TYPES(TULLE_FILL_SORTED)

} // namespace tulle::kernels::cuda
