// SPDX-License-Identifier: Apache-2.0

// Rows of C with 257 to 4096 products anywhere, as the default has them. Their columns come of a
// sort in shared memory; how many columns there are does not matter, as it would if each had a bit.
// Then a block adds the products, one row of B after the other, its entries by the threads, each
// where a search among the row's columns finds its own.
//
// Liu, thesis 2015, sec. 9.4: the expand-sort-compress bins, there by bitonic networks and with
// values; here the sort is CUB's, of columns alone. To sort products along with them, stable, and
// add those of one column took 2.4 ms whether columns were known or not (rmat of 2^17 rows, H200);
// this takes 1.1 where they are, and 1.3 more where they are not.
#include "cuda/spgemm/short.cuh"
#include "cuda/spgemm/sorted.cuh"
#include "cuda/types.hpp"

#include <bit>
#include <cub/block/block_radix_sort.cuh>

namespace tulle::simt {
namespace {

template <int threads, int items, class I, class O>
struct sort_room {
  using key_type = std::make_unsigned_t<I>;
  using sorter = cub::BlockRadixSort<key_type, threads, items>;
  terms_room<threads, char, O> terms;
  union {
    typename sorter::TempStorage sorting;
    key_type key[threads * items];
  };
};

/// Counts rows of C, or, where there is C, writes their columns. A block a row.
template <int threads, int items, bool writes, class I, class O>
__global__ void __launch_bounds__(threads)
    sorted_kernel(pattern<I, O> a, pattern<I, O> b, I const* list, int bits, O* counts, I* c_col) {
  using room_type = sort_room<threads, items, I, O>;
  using key_type = typename room_type::key_type;
  extern __shared__ double sorted_room[];
  auto& room = *reinterpret_cast<room_type*>(sorted_room);
  I const i = list[blockIdx.x];
  int n = 0;
  each_chunk<threads, false>(a.ptr[i], a.ptr[i + 1], a, static_cast<char const*>(nullptr), b,
                             room.terms, [&](int products) {
                               for (int q = threadIdx.x; q < products; q += threads)
                                 room.key[n + q] = static_cast<key_type>(
                                     b.col[room.terms.start[row_of(room.terms, q)] + q]);
                               n += products;
                             });
  int const first = threadIdx.x * items;
  key_type key[items];
#pragma unroll
  for (int k = 0; k < items; ++k) // what is beyond n stays behind: it is greatest, and last
    key[k] = first + k < n ? room.key[first + k] : static_cast<key_type>(-1);
  __syncthreads();
  typename room_type::sorter(room.sorting).Sort(key, 0, bits);
  __syncthreads();
  room.key[first + items - 1] = key[items - 1];
  __syncthreads();
  unsigned heads = 0;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    key_type const before = k > 0 ? key[k > 0 ? k - 1 : 0] : first > 0 ? room.key[first - 1] : 0;
    bool const is_head = first + k < n && (first + k == 0 || key[k] != before);
    heads |= static_cast<unsigned>(is_head) << k;
  }
  int const before = block_exclusive_scan<threads>(__popc(heads), room.terms.scan);
  if constexpr (writes) {
    O at = counts[i] + before;
#pragma unroll
    for (int k = 0; k < items; ++k)
      if (heads >> k & 1)
        c_col[at++] = static_cast<I>(key[k]);
  } else if (threadIdx.x == threads - 1) {
    counts[i] = before + __popc(heads);
  }
}

/// C's values, where its columns are there. A block a row.
template <int threads, int most, class V, class I, class O>
__global__ void __launch_bounds__(threads)
    sorted_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                       I const* list, O const* c_ptr, I const* c_col, V* c_val) {
  struct room_type {
    terms_room<threads, V, O> terms;
    V sum[most];
    I col[most];
  };
  extern __shared__ double sorted_room[];
  auto& room = *reinterpret_cast<room_type*>(sorted_room);
  I const i = list[blockIdx.x];
  O const at = c_ptr[i];
  int const n = static_cast<int>(c_ptr[i + 1] - at);
  for (int k = threadIdx.x; k < n; k += threads) {
    room.sum[k] = nothing<V>();
    room.col[k] = c_col[at + k];
  }
  each_chunk<threads, true>(a.ptr[i], a.ptr[i + 1], a, a_val, b, room.terms, [&](int products) {
    add_products<threads>(room.terms, products, b, b_val, room.sum,
                          [&](I column) { return lower_bound(room.col, n, column); });
  });
  for (int k = threadIdx.x; k < n; k += threads)
    c_val[at + k] = room.sum[k];
}

template <bool writes, class I, class O>
void run_sorted(cuda_product const& p, pattern<I, O> const& a, pattern<I, O> const& b, O* counts,
                I* c_col) {
  int const bits = std::max(
      1, static_cast<int>(std::bit_width(static_cast<std::make_unsigned_t<I>>(b.cols - 1))));
  each_short_bin<I, false>(p, [&](auto threads, auto items, std::size_t rows, I const* list) {
    launch_shared(sorted_kernel<threads(), items(), writes, I, O>, rows, threads(),
                  sizeof(sort_room<threads(), items(), I, O>), p.stream, a, b, list, bits, counts,
                  c_col);
  });
}

} // namespace

template <class I, class O>
void count_sorted(cuda_product const& p, pattern<I, O> const& a, pattern<I, O> const& b,
                  O* counts) {
  run_sorted<false>(p, a, b, counts, static_cast<I*>(nullptr));
}
template <class I, class O>
void write_sorted_columns(cuda_product const& p, pattern<I, O> const& a, pattern<I, O> const& b,
                          O* c_ptr, I* c_col) {
  run_sorted<true>(p, a, b, c_ptr, c_col);
}

template <class V, class I, class O>
void fill_sorted(cuda_product const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                 O const* c_ptr, I const* c_col, V* c_val) {
  each_short_bin<I, false>(p, [&](auto threads, auto items, std::size_t rows, I const* list) {
    constexpr int most = threads() * items();
    launch_shared(sorted_fill_kernel<threads(), most, V, I, O>, rows, threads(),
                  sizeof(terms_room<threads(), V, O>) + most * (sizeof(V) + sizeof(I)) + 16,
                  p.stream, a, a.val, b, b.val, list, c_ptr, c_col, c_val);
  });
}

#define TULLE_SORTED(I, O)                                                                         \
  template void count_sorted(cuda_product const&, pattern<I, O> const&, pattern<I, O> const&, O*); \
  template void write_sorted_columns(cuda_product const&, pattern<I, O> const&,                    \
                                     pattern<I, O> const&, O*, I*);
TULLE_SORTED(std::int32_t, std::uint32_t)
TULLE_SORTED(std::int64_t, std::uint64_t)
TULLE_SORTED(std::int32_t, std::uint64_t)
#define TULLE_FILL_SORTED(tag, V, I, O)                                                            \
  template void fill_sorted(cuda_product const&, operand<V, I, unsigned_t<O>> const&,              \
                            operand<V, I, unsigned_t<O>> const&, unsigned_t<O> const*, I const*,   \
                            V*);
TULLE_PRODUCT_TYPES(TULLE_FILL_SORTED)

} // namespace tulle::simt
