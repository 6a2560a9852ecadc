// SPDX-License-Identifier: Apache-2.0

// C by expand, sort, compress in global memory, for as many rows at once as there is memory for:
// the baseline of King et al., dynamic CSR, sec. 3.2. The sort is stable, so products of one place
// are added in the order of A's row.
#include "cuda/cub.cuh"
#include "cuda/spgemm/forced.cuh"
#include "cuda/types.hpp"

#include <bit>
#include <cub/device/device_radix_sort.cuh>

namespace tulle::simt {
namespace {

using number = unsigned long long;

constexpr number most_products = number{1} << 26; // at once; not tuned

/// What sorting n products takes: keys and values twice, places, and CUB's own.
template <class V>
constexpr number bytes_a_product = 2 * (sizeof(number) + sizeof(V)) + sizeof(number) + 2;

template <class V>
void sort_products(number const* key, number* sorted, V const* val, V* sorted_val, number n,
                   int bits, void* stream) {
  auto const s = static_cast<cudaStream_t>(stream);
  auto const all = static_cast<std::int64_t>(n);
  std::size_t bytes = 0;
  TULLE_CUDA(cub::DeviceRadixSort::SortPairs, nullptr, bytes, key, sorted, val, sorted_val, all, 0,
             bits, s);
  scratch<char> const room(bytes, s);
  TULLE_CUDA(cub::DeviceRadixSort::SortPairs, room.get(), bytes, key, sorted, val, sorted_val, all,
             0, bits, s);
}

/// Rows from `first` on whose n products stand from `base` on.
template <class V, class I, class O>
void fill_rows(operand<V, I, O> const& a, operand<V, I, O> const& b, std::size_t first,
               std::size_t rows, number const* before, number base, number n, O const* c_ptr,
               I* c_col, V* c_val, void* stream) {
  int const column_bits = std::bit_width(static_cast<number>(b.cols));
  int const bits = column_bits + std::bit_width(static_cast<number>(rows));
  if (bits > 64)
    fail(errc::unsupported,
         "spgemm: %zu rows at once and %lld columns, which global_esc cannot number on cuda", rows,
         static_cast<long long>(b.cols));
  scratch<number> const keys(n, stream), sorted_keys(n, stream), places(n + 1, stream);
  scratch<V> const vals(n, stream), sorted_vals(n, stream);
  each_warp(rows, stream,
            [=, key = keys.get(), val = vals.get()] __device__(std::size_t r, int lane) {
              number at = before[first + r] - base;
              for (O k = a.ptr[first + r]; k < a.ptr[first + r + 1]; ++k) {
                O const from = b.ptr[a.col[k]], to = b.ptr[a.col[k] + 1];
                for (O q = from + lane; q < to; q += 32) {
                  key[at + (q - from)] = static_cast<number>(r) << column_bits | b.col[q];
                  val[at + (q - from)] = a.val[k] * b.val[q];
                }
                at += to - from;
              }
            });
  sort_products<V>(keys.get(), sorted_keys.get(), vals.get(), sorted_vals.get(), n, bits, stream);
  each(n, stream, [=, key = sorted_keys.get(), place = places.get()] __device__(std::size_t q) {
    place[q] = q == 0 || key[q] != key[q - 1];
  });
  to_pointers(places.get(), n, stream);
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
         number const to = c_ptr[first] + place[q];
         c_col[to] = static_cast<I>(key[q] & ((number{1} << column_bits) - 1));
         c_val[to] = sum;
       });
}

} // namespace

template <class V, class I, class O>
void fill_global_esc(cuda_product const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                     O const* c_ptr, I* c_col, V* c_val) {
  auto const rows = static_cast<std::size_t>(a.rows);
  scratch<number> const before(rows + 1, p.stream); // products of rows before
  each(rows, p.stream, [=, count = before.get()] __device__(std::size_t i) {
    number n = 0;
    for (O k = a.ptr[i]; k < a.ptr[i + 1]; ++k)
      n += b.ptr[a.col[k] + 1] - b.ptr[a.col[k]];
    count[i] = n;
  });
  to_pointers(before.get(), rows, p.stream);
  auto const ends = fetch(before.get(), rows + 1, p.stream);
  constexpr std::size_t beside = std::size_t{1} << 20; // of CUB
  std::size_t const limit = scratch_limit::rest();
  number const most =
      std::min<number>(most_products, (limit - std::min(limit, beside)) / bytes_a_product<V>);
  for (std::size_t i = 0; i < rows; ++i)
    if (ends[i + 1] - ends[i] > most)
      fail(errc::out_of_memory,
           "spgemm: global_esc wants workspace for the %llu products of row %zu, and there is for "
           "%llu",
           ends[i + 1] - ends[i], i, most);
  for (std::size_t first = 0; first < rows;) {
    std::size_t last = first;
    while (last < rows && ends[last + 1] - ends[first] <= most)
      ++last;
    if (ends[last] != ends[first])
      fill_rows(a, b, first, last - first, static_cast<number const*>(before.get()), ends[first],
                ends[last] - ends[first], c_ptr, c_col, c_val, p.stream);
    first = last;
  }
}

#define TULLE_GLOBAL_ESC(tag, V, I, O)                                                             \
  template void fill_global_esc(cuda_product const&, operand<V, I, unsigned_t<O>> const&,          \
                                operand<V, I, unsigned_t<O>> const&, unsigned_t<O> const*, I*,     \
                                V*);
TULLE_PRODUCT_TYPES(TULLE_GLOBAL_ESC)

} // namespace tulle::simt
