// SPDX-License-Identifier: Apache-2.0

// C by expand, sort, compress in global memory, for as many rows at once as there is memory for:
// the baseline of King et al., dynamic CSR, sec. 3.2. It computes all rows if asked for. By default
// it takes rows of many products in columns far apart, where each tile would have few. The sort is
// stable, so products of one place are added in the order of A's row.
#include "cuda/cub.cuh"
#include "cuda/spgemm/forced.cuh"
#include "cuda/spgemm/short.cuh"
#include "cuda/types.hpp"

#include <bit>

namespace tulle::kernels::cuda {
namespace {

using number = unsigned long long;

constexpr number most_products = number{1} << 26; // at once; not tuned
constexpr number most_scattered = number{1} << 20;
constexpr int scattered_threads = 512; // of a row

/// Bytes for sorting n products: keys and values twice, a third time for CUB, which does not write
/// to its input; places, and CUB's own memory.
template <class V>
constexpr number bytes_a_product = 3 * (sizeof(number) + sizeof(V)) + sizeof(number) + 2;
constexpr std::size_t cub_bytes = std::size_t{1} << 20; // of CUB

/// Rows of A: all, or those of a list.
template <class I>
struct some_rows {
  std::size_t count;
  I const* list;
  bool is_all;
  __device__ I operator[](std::size_t k) const { return is_all ? static_cast<I>(k) : list[k]; }
};
template <class I>
some_rows<I> scattered_rows(product_state const& p) {
  return {rows_in(p, row_bin::scattered), listed<I>(p, row_bin::scattered), false};
}

/// The n products of rows [first, first + rows), numbered from `base` on; key: the row, then the
/// column.
template <class I>
struct some_products {
  some_rows<I> from;
  std::size_t first, rows;
  number const* before; // products of rows before
  number base, n;
  int column_bits;
  __device__ number start(std::size_t r) const { return before[first + r] - base; }
};

/// One block per row.
template <int threads, bool has_values, class V, class I, class O>
__global__ void __launch_bounds__(threads)
    expand_kernel(some_products<I> which, pattern<I, O> a, V const* a_val, pattern<I, O> b,
                  V const* b_val, number* key, V* val) {
  __shared__ terms_room<threads, V, O> room;
  std::size_t const r = blockIdx.x;
  I const i = which.from[which.first + r];
  number at = which.start(r);
  each_chunk<threads, has_values>(a.ptr[i], a.ptr[i + 1], a, a_val, b, room, [&](int products) {
    for (int q = threadIdx.x; q < products; q += threads) {
      int const t = row_of(room, q);
      O const k = room.start[t] + q;
      key[at + q] = static_cast<number>(r) << which.column_bits | b.col[k];
      if (has_values)
        val[at + q] = room.factor[t] * b_val[k];
    }
    at += products;
  });
}

/// place[q]: the number of keys before q that begin an entry.
void find_places(number const* key, number n, number* place, void* stream) {
  each(n, stream, [=] __device__(std::size_t q) { place[q] = q == 0 || key[q] != key[q - 1]; });
  to_pointers(place, n, stream);
}

/// Products of each row. One block per row.
template <int threads, class I, class O>
__global__ void __launch_bounds__(threads)
    count_products_kernel(some_rows<I> from, pattern<I, O> a, pattern<I, O> b, number* to) {
  __shared__ block_room<number> room;
  I const i = from[blockIdx.x];
  number n = 0;
  for (O k = a.ptr[i] + threadIdx.x; k < a.ptr[i + 1]; k += threads)
    n += b.ptr[a.col[k] + 1] - b.ptr[a.col[k]];
  n = block_reduce<threads>(n, room);
  if (threadIdx.x == 0)
    to[blockIdx.x] = n;
}

/// Calls f(products) for groups of rows, each with as many as have `most` products and there is
/// memory for; all rows have `all`. Waits if there is more than one group.
template <int threads, class V, class I, class O, class F>
void each_part(some_rows<I> const& from, pattern<I, O> const& a, pattern<I, O> const& b, number all,
               number most, void* stream, F&& f) {
  scratch<number> const before(from.count + 1, stream);
  launch(count_products_kernel<threads, I, O>, from.count, threads, stream, from, a, b,
         before.get());
  to_pointers(before.get(), from.count, stream);
  std::size_t const limit = scratch_limit::rest();
  most = std::min<number>(most, (limit - std::min(limit, cub_bytes)) / bytes_a_product<V>);
  int const column_bits = std::bit_width(static_cast<number>(b.cols));
  auto const run = [&](std::size_t first, std::size_t last, number begin, number end) {
    if (column_bits + std::bit_width(last - first) > 63)
      fail(errc::unsupported,
           "spgemm: %zu rows at once and %lld columns, which global_esc cannot number on cuda",
           last - first, static_cast<long long>(b.cols));
    if (begin != end)
      f(some_products<I>{from, first, last - first, before.get(), begin, end - begin, column_bits});
  };
  if (all <= most)
    return run(0, from.count, 0, all);
  auto const ends = fetch(before.get(), from.count + 1, stream);
  for (std::size_t k = 0; k < from.count; ++k)
    if (ends[k + 1] - ends[k] > most)
      fail(errc::out_of_memory,
           "spgemm: global_esc wants workspace for the %llu products of row %zu, and there is for "
           "%llu",
           ends[k + 1] - ends[k], k, most);
  for (std::size_t first = 0; first < from.count;) {
    std::size_t last = first;
    while (last < from.count && ends[last + 1] - ends[first] <= most)
      ++last;
    run(first, last, ends[first], ends[last]);
    first = last;
  }
}

template <class I, class O>
void count_rows(some_products<I> const& which, pattern<I, O> const& a, pattern<I, O> const& b,
                O* counts, void* stream) {
  scratch<number> const keys(which.n, stream), sorted(which.n, stream), places(which.n + 1, stream);
  char const* const none = nullptr; // no values
  launch(expand_kernel<scattered_threads, false, char, I, O>, which.rows, scattered_threads, stream,
         which, a, none, b, none, keys.get(), static_cast<char*>(nullptr));
  sort_keys(reinterpret_cast<std::int64_t const*>(keys.get()),
            reinterpret_cast<std::int64_t*>(sorted.get()), which.n,
            (std::int64_t{1} << (which.column_bits + std::bit_width(which.rows))) - 1, stream);
  find_places(sorted.get(), which.n, places.get(), stream);
  each(which.rows, stream, [=, place = places.get()] __device__(std::size_t r) {
    counts[which.from[which.first + r]] = place[which.start(r + 1)] - place[which.start(r)];
  });
}

template <int threads, class V, class I, class O>
void fill_rows(some_products<I> const& which, operand<V, I, O> const& a, operand<V, I, O> const& b,
               O const* c_ptr, I* c_col, V* c_val, void* stream) {
  number const n = which.n;
  scratch<number> const keys(n, stream), sorted_keys(n, stream), places(n + 1, stream);
  scratch<V> const vals(n, stream), sorted_vals(n, stream);
  launch(expand_kernel<threads, true, V, I, O>, which.rows, threads, stream, which, a, a.val, b,
         b.val, keys.get(), vals.get());
  sort_pairs(keys.get(), sorted_keys.get(), vals.get(), sorted_vals.get(), n,
             which.column_bits + std::bit_width(which.rows), stream);
  find_places(sorted_keys.get(), n, places.get(), stream);
  each(n, stream,
       [=, key = sorted_keys.get(), val = sorted_vals.get(),
        place = places.get()] __device__(std::size_t q) {
         if (place[q] == place[q + 1])
           return;
         V sum = nothing<V>();
         number next = q;
         do
           sum = sum + val[next];
         while (++next < n && key[next] == key[q]);
         std::size_t const r = key[q] >> which.column_bits;
         number const to = c_ptr[which.from[which.first + r]] + place[q] - place[which.start(r)];
         c_col[to] = static_cast<I>(key[q] & ((number{1} << which.column_bits) - 1));
         c_val[to] = sum;
       });
}

} // namespace

template <class V, class I, class O>
void fill_global_esc(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                     O const* c_ptr, I* c_col, V* c_val) {
  some_rows<I> const all = {static_cast<std::size_t>(a.rows), nullptr, true};
  each_part<32, V, I, O>(all, a, b, p.all.products, most_products, p.stream,
                         [&](some_products<I> const& which) {
                           fill_rows<32>(which, a, b, c_ptr, c_col, c_val, p.stream);
                         });
}

bool can_scatter(std::size_t cols) {
  return cols / columns_scattered <= most_scattered &&
         scratch_limit::rest() >= cub_bytes + 2 * most_scattered * bytes_a_product<double>;
}

template <class V, class I, class O>
void count_scattered(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                     O* counts) {
  auto const from = scattered_rows<I>(p);
  if (from.count == 0)
    return;
  each_part<scattered_threads, V, I, O>(
      from, a, b, p.all.scattered, most_scattered, p.stream,
      [&](some_products<I> const& which) { count_rows<I, O>(which, a, b, counts, p.stream); });
}

template <class V, class I, class O>
void fill_scattered(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                    O const* c_ptr, I* c_col, V* c_val) {
  auto const from = scattered_rows<I>(p);
  if (from.count == 0)
    return;
  each_part<scattered_threads, V, I, O>(
      from, a, b, p.all.scattered, most_scattered, p.stream, [&](some_products<I> const& which) {
        fill_rows<scattered_threads>(which, a, b, c_ptr, c_col, c_val, p.stream);
      });
}

#define TULLE_GLOBAL_ESC(tag, V, I, O)                                                             \
  template void fill_global_esc(product_state const&, operand<V, I, unsigned_t<O>> const&,         \
                                operand<V, I, unsigned_t<O>> const&, unsigned_t<O> const*, I*,     \
                                V*);                                                               \
  template void count_scattered(product_state const&, operand<V, I, unsigned_t<O>> const&,         \
                                operand<V, I, unsigned_t<O>> const&, unsigned_t<O>*);              \
  template void fill_scattered(product_state const&, operand<V, I, unsigned_t<O>> const&,          \
                               operand<V, I, unsigned_t<O>> const&, unsigned_t<O> const*, I*, V*);
TULLE_KERNEL_TYPES(TULLE_GLOBAL_ESC)

} // namespace tulle::kernels::cuda
