// SPDX-License-Identifier: Apache-2.0

// Rows of C with up to 4096 products anywhere: a block expands them, sorts them by column, and adds
// those of one column. The sort is stable, so they are added in the order of A's row; and how many
// columns there are does not matter, as it does where each has a bit.
//
// Liu, thesis 2015, sec. 9.4: the expand-sort-compress bins, there by bitonic networks; here by
// CUB's radix sort, since networks are not stable.
#include "cuda/spgemm/sorted.cuh"

#include "cuda/primitive/block.cuh"
#include "cuda/primitive/search.cuh"

#include <bit>
#include <cub/block/block_radix_sort.cuh>

namespace tulle::simt {
namespace {

template <int threads, int items, bool has_values, class V, class I, class O>
struct sort_room {
  using key_type = std::make_unsigned_t<I>;
  using place = std::conditional_t<has_values, std::uint16_t, cub::NullType>;
  using sorter = cub::BlockRadixSort<key_type, threads, items, place>;
  static constexpr int most = threads * items;
  union {
    typename sorter::TempStorage sorting;
    struct {
      key_type key[most];
      std::uint16_t from[has_values ? most : 1];
    } list;
  };
  O start[threads];
  int before[threads + 1];
  V factor[has_values ? threads : 1];
  V product[has_values ? most : 1];
  block_room<int> scan;
};

/// The products of A's row with B, as they are to be added; returns how many.
template <int threads, bool has_values, class Room, class V, class I, class O>
__device__ int expand(O begin, O end, pattern<I, O> const& a, V const* a_val, pattern<I, O> const& b,
                      V const* b_val, Room& room) {
  int const t = threadIdx.x;
  int n = 0;
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
    int const all = room.before[threads];
    for (int q = t; q < all; q += threads) {
      int const which = upper_bound(room.before, threads, q) - 1; // it is not empty: the next begins later
      O const k = room.start[which] + q;
      room.list.key[n + q] = static_cast<typename Room::key_type>(b.col[k]);
      if (has_values)
        room.product[n + q] = room.factor[which] * b_val[k];
    }
    n += all;
    __syncthreads();
  }
  return n;
}

/// Sorts row i; returns the products, and which of this thread's are the first of a column.
template <int threads, int items, bool has_values, class Room, class V, class I, class O>
__device__ int sort_row(std::size_t i, pattern<I, O> const& a, V const* a_val,
                        pattern<I, O> const& b, V const* b_val, int bits, Room& room,
                        unsigned& heads) {
  using key_type = typename Room::key_type;
  int const n = expand<threads, has_values>(a.ptr[i], a.ptr[i + 1], a, a_val, b, b_val, room);
  int const first = threadIdx.x * items;
  key_type key[items];
  std::uint16_t from[items];
#pragma unroll
  for (int k = 0; k < items; ++k) { // what is beyond n stays behind: it is greatest, and last
    key[k] = first + k < n ? room.list.key[first + k] : static_cast<key_type>(-1);
    from[k] = static_cast<std::uint16_t>(first + k);
  }
  __syncthreads();
  if constexpr (has_values)
    typename Room::sorter(room.sorting).Sort(key, from, 0, bits);
  else
    typename Room::sorter(room.sorting).Sort(key, 0, bits);
  __syncthreads();
#pragma unroll
  for (int k = 0; k < items; ++k) {
    room.list.key[first + k] = key[k];
    if (has_values)
      room.list.from[first + k] = from[k];
  }
  __syncthreads();
  heads = 0;
#pragma unroll
  for (int k = 0; k < items; ++k) {
    int const q = first + k;
    bool const is_head =
        q < n && (q == 0 || key[k] != (k == 0 ? room.list.key[q - 1] : key[k == 0 ? 0 : k - 1]));
    heads |= static_cast<unsigned>(is_head) << k;
  }
  return n;
}

template <int threads, int items, class I, class O>
__global__ void __launch_bounds__(threads)
    sorted_count_kernel(pattern<I, O> a, pattern<I, O> b, I const* list, int bits, O* counts) {
  using room_type = sort_room<threads, items, false, char, I, O>;
  extern __shared__ double sorted_room[];
  auto& room = *reinterpret_cast<room_type*>(sorted_room);
  auto const i = static_cast<std::size_t>(list[blockIdx.x]);
  unsigned heads;
  sort_row<threads, items, false>(i, a, static_cast<char const*>(nullptr), b,
                                  static_cast<char const*>(nullptr), bits, room, heads);
  int const before = block_exclusive_scan<threads>(__popc(heads), room.scan);
  if (threadIdx.x == threads - 1)
    counts[i] = before + __popc(heads);
}

template <int threads, int items, class V, class I, class O>
__global__ void __launch_bounds__(threads)
    sorted_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                       I const* list, int bits, O const* c_ptr, I* c_col, V* c_val,
                       bool with_columns) {
  using room_type = sort_room<threads, items, true, V, I, O>;
  extern __shared__ double sorted_room[];
  auto& room = *reinterpret_cast<room_type*>(sorted_room);
  auto const i = static_cast<std::size_t>(list[blockIdx.x]);
  unsigned heads;
  int const n =
      sort_row<threads, items, true>(i, a, a_val, b, b_val, bits, room, heads);
  O at = c_ptr[i] + block_exclusive_scan<threads>(__popc(heads), room.scan);
  for (; heads != 0; heads &= heads - 1, ++at) {
    int q = threadIdx.x * items + __ffs(static_cast<int>(heads)) - 1;
    auto const column = room.list.key[q];
    V sum = nothing<V>();
    do
      sum = sum + room.product[room.list.from[q]];
    while (++q < n && room.list.key[q] == column);
    c_val[at] = sum;
    if (with_columns)
      c_col[at] = static_cast<I>(column);
  }
}

/// f(threads, items, rows, list of them), known to the compiler, for each bin that has rows.
template <class I, class F>
void each_sorted_bin(cuda_product const& p, F&& f) {
  auto const* list = static_cast<I const*>(p.list);
  auto const bin = [&](row_bin which, auto threads, auto items) {
    auto const rows = static_cast<std::size_t>(p.all.rows[static_cast<int>(which)]);
    if (rows != 0)
      f(threads, items, rows, list);
    list += rows;
  };
  bin(row_bin::sorted_s, std::integral_constant<int, 64>(), std::integral_constant<int, 4>());
  bin(row_bin::sorted_m, std::integral_constant<int, 128>(), std::integral_constant<int, 8>());
  bin(row_bin::sorted_l, std::integral_constant<int, 512>(), std::integral_constant<int, 8>());
}
static_assert(sorted_s == 64 * 4 && sorted_m == 128 * 8 && sorted_l == 512 * 8);

template <class I>
int bits_of(I cols) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<std::make_unsigned_t<I>>(cols - 1))));
}

} // namespace

template <class I, class O>
void count_sorted(cuda_product const& p, pattern<I, O> const& a, pattern<I, O> const& b,
                  O* counts) {
  each_sorted_bin<I>(p, [&](auto threads, auto items, std::size_t rows, I const* list) {
    launch_shared(sorted_count_kernel<threads(), items(), I, O>, rows, threads(),
                  sizeof(sort_room<threads(), items(), false, char, I, O>), p.stream, a, b, list,
                  bits_of(b.cols), counts);
  });
}

template <class V, class I, class O>
void fill_sorted(cuda_product const& p, device_csr<V, I, O> const& a, device_csr<V, I, O> const& b,
                 O const* c_ptr, I* c_col, V* c_val, bool with_columns) {
  each_sorted_bin<I>(p, [&](auto threads, auto items, std::size_t rows, I const* list) {
    launch_shared(sorted_fill_kernel<threads(), items(), V, I, O>, rows, threads(),
                  sizeof(sort_room<threads(), items(), true, V, I, O>), p.stream, pattern_of(a),
                  a.val, pattern_of(b), b.val, list, bits_of(b.cols), c_ptr, c_col, c_val,
                  with_columns);
  });
}

#define TULLE_COUNT_SORTED(I, O)                                                                   \
  template void count_sorted(cuda_product const&, pattern<I, O> const&, pattern<I, O> const&, O*);
TULLE_COUNT_SORTED(std::int32_t, std::int32_t)
TULLE_COUNT_SORTED(std::int64_t, std::int64_t)
#define TULLE_FILL_SORTED(tag, V, I, O)                                                            \
  template void fill_sorted(cuda_product const&, device_csr<V, I, O> const&,                       \
                            device_csr<V, I, O> const&, O const*, I*, V*, bool);
TULLE_TYPES(TULLE_FILL_SORTED)

} // namespace tulle::simt
