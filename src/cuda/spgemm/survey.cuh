// SPDX-License-Identifier: Apache-2.0

// Finds products, width and bin of each row in one pass, then lists the rows of each bin.
#pragma once
#include "cuda/cub.cuh"
#include "cuda/spgemm/pattern.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr std::size_t survey_blocks = 132 * 8; // each block adds to the counters once
// Rows of A with at least this many entries on average take one warp each, not four lanes.
constexpr int wide_rows = 12;
constexpr std::size_t few_rows = 8192; // up to so many rows take one warp each

__device__ inline row_bin bin_of(spgemm_method method, unsigned long long terms,
                                 unsigned long long products, bool is_tiny, bool is_small,
                                 bool is_window, bool is_scattered) {
  using enum spgemm_method;
  bool const is_short = method == esc || method == hash;
  bool const is_heavy =
      terms >= heavy_terms && products >= heavy_products && products >= heavy_length * terms;
  bool const is_long =
      !is_short && products >= long_terms * terms && products <= longest_terms * terms;
  if (method == heap_esc_merge && products != 0)
    return products > most_by_esc                          ? row_bin::tiled
           : products > short_s                            ? row_bin::short_m
           : products > most_by_heap || terms > heap_terms ? row_bin::short_s
                                                           : row_bin::heap;
  return products == 0                                          ? row_bin::empty
         : method == dense || method == merge                   ? row_bin::tiled
         : method == spgemm_method::heap && terms <= heap_terms ? row_bin::heap
         : is_tiny && !is_short                                 ? row_bin::tiny
         : is_small && is_window && !is_short                   ? row_bin::small
         : is_window && !is_short ? is_heavy ? row_bin::heavy : row_bin::window
         : products <= short_s && (is_short || terms <= 32) ? row_bin::short_s
         : products <= short_m       ? (is_long ? row_bin::long_m : row_bin::short_m)
         : products <= short_l       ? (is_long ? row_bin::long_l : row_bin::short_l)
         : is_scattered && !is_short ? row_bin::scattered
                                     : row_bin::tiled;
}

template <int lanes, class I, class O>
__global__ void __launch_bounds__(each_threads)
    survey_kernel(pattern<I, O> a, pattern<I, O> b, spgemm_method method, unsigned widest_window,
                  bool scatters, row_bin* bins, product_survey* to) {
  constexpr int rows_at_once = each_threads / lanes;
  __shared__ product_survey found;
  if (threadIdx.x == 0)
    found = {};
  __syncthreads();
  int const lane = threadIdx.x % lanes;
  unsigned long long products = 0, most = 0, longest = 0, widest = 0, widest_heavy = 0,
                     widest_small = 0, scattered = 0;
  unsigned rows[row_bins] = {};
  auto const all = static_cast<long long>(a.rows);
  for (long long first = blockIdx.x * static_cast<long long>(rows_at_once); first < all;
       first += gridDim.x * static_cast<long long>(rows_at_once)) {
    long long const i = first + threadIdx.x / lanes;
    bool const is_row = i < all;
    O const begin = is_row ? a.ptr[i] : 0, end = is_row ? a.ptr[i + 1] : 0;
    bool const is_long = lanes < 32 && end - begin > 8 * lanes;
    O const stop = is_long ? begin : end;
    O n = products_of<lanes>(begin, stop, a, b, lane);
    bool const is_tiny = !is_long && end - begin <= tiny_terms && n <= tiny_products;
    bool const is_small = !is_long && end - begin <= small_terms && n <= small_products;
    extent<I> columns = columns_of<lanes>(begin, is_tiny ? begin : stop, a, b, lane);
    // The whole warp takes long rows among short ones.
    for (unsigned left = __ballot_sync(whole_warp, is_long && lane == 0); left != 0;
         left &= left - 1) {
      int const owner = __ffs(static_cast<int>(left)) - 1, of_warp = threadIdx.x % 32;
      O const from = __shfl_sync(whole_warp, begin, owner);
      O const to_entry = __shfl_sync(whole_warp, end, owner);
      O long_n = 0;
      extent<I> const long_columns = columns_of(from, to_entry, a, b, of_warp, long_n);
      long_n = reduce<32>(long_n);
      if (of_warp / lanes == owner / lanes) {
        n = long_n;
        columns = long_columns;
      }
    }
    if (!is_row || lane != 0)
      continue;
    auto const count = static_cast<unsigned long long>(n);
    auto const width = columns.high < columns.low
                           ? 0ull
                           : static_cast<unsigned long long>(columns.high - columns.low) + 1;
    row_bin const bin = bin_of(
        method, end - begin, count, is_tiny, is_small,
        width <= narrow_window || (width <= widest_window && width <= columns_a_product * count),
        scatters && count <= static_cast<unsigned long long>(b.cols) / columns_scattered);
    bins[i] = bin;
    products += count;
    auto const room = is_tiny ? static_cast<unsigned long long>(b.cols) : width;
    most += count < room ? count : room;
    if (bin == row_bin::tiny)
      longest = greatest::join(longest, static_cast<unsigned long long>(end - begin));
    if (bin == row_bin::window)
      widest = greatest::join(widest, width);
    if (bin == row_bin::heavy)
      widest_heavy = greatest::join(widest_heavy, width);
    if (bin == row_bin::small)
      widest_small = greatest::join(widest_small, width);
    if (bin == row_bin::scattered)
      scattered += count;
#pragma unroll
    for (int k = 0; k < row_bins; ++k)
      rows[k] += bin == static_cast<row_bin>(k);
  }
  fold_warp<sum>(products, &found.products);
  fold_warp<sum>(most, &found.most_entries);
  fold_warp<greatest>(longest, &found.longest_tiny);
  fold_warp<greatest>(widest, &found.widest);
  fold_warp<greatest>(widest_heavy, &found.widest_heavy);
  fold_warp<greatest>(widest_small, &found.widest_small);
  fold_warp<sum>(scattered, &found.scattered);
#pragma unroll
  for (int k = 0; k < row_bins; ++k)
    fold_warp<sum>(rows[k], &found.rows[k]);
  __syncthreads();
  if (threadIdx.x != 0)
    return;
  atomicAdd(&to->products, found.products);
  atomicAdd(&to->most_entries, found.most_entries);
  atomicMax(&to->longest_tiny, found.longest_tiny);
  atomicMax(&to->widest, found.widest);
  atomicMax(&to->widest_heavy, found.widest_heavy);
  atomicMax(&to->widest_small, found.widest_small);
  atomicAdd(&to->scattered, found.scattered);
  for (int k = 0; k < row_bins; ++k)
    if (found.rows[k] != 0)
      atomicAdd(&to->rows[k], found.rows[k]);
}

template <class I, class O>
void survey(pattern<I, O> const& a, pattern<I, O> const& b, std::size_t nnz, spgemm_method method,
            unsigned widest_window, bool scatters, row_bin* bins, product_survey* to,
            void* stream) {
  auto const rows = static_cast<std::size_t>(a.rows);
  bool const wide = rows <= few_rows || nnz / std::max<std::size_t>(1, rows) >= wide_rows;
  std::size_t const rows_at_once = each_threads / (wide ? 32 : 4);
  launch(wide ? survey_kernel<32, I, O> : survey_kernel<4, I, O>,
         std::min(survey_blocks, ceil_div(rows, rows_at_once)), each_threads, stream, a, b, method,
         widest_window, scatters, bins, to);
}

/// same[i]: row i has the columns of row i - 1. One warp per row. Returns whether any row has.
template <class I, class O>
bool find_same(pattern<I, O> const& a, std::uint8_t* same, void* stream) {
  scratch<int> const any(1, stream);
  TULLE_CUDA(cudaMemsetAsync, any.get(), 0, sizeof(int), static_cast<cudaStream_t>(stream));
  each_warp(static_cast<std::size_t>(a.rows), stream,
            [=, any = any.get()] __device__(std::size_t i, int lane) {
              O const begin = a.ptr[i], end = a.ptr[i + 1];
              O const before = i > 0 ? a.ptr[i - 1] : begin;
              bool is_same = i > 0 && end > begin && end - begin == begin - before;
              for (O k = lane; is_same && k < end - begin; k += 32)
                is_same = a.col[before + k] == a.col[begin + k];
              bool const all = __all_sync(whole_warp, is_same);
              if (lane != 0)
                return;
              same[i] = all;
              if (all)
                *any = 1;
            });
  return fetch(any.get(), 1, stream)[0] != 0;
}

constexpr int look_back = 60; // rows with the same columns; later ones form no groups

/// The number of rows in the group that row i leads; 0 if it leads none.
__device__ inline int rows_led(std::size_t i, std::size_t rows, std::uint8_t const* same,
                               int most) {
  std::size_t back = 0;
  while (back < look_back && back < i && same[i - back])
    ++back;
  if (back >= look_back)
    return 1;
  if (back % static_cast<std::size_t>(most) != 0)
    return 0;
  int n = 1;
  while (n < most && i + n < rows && same[i + n] && back + n < look_back)
    ++n;
  return n;
}

/// Writes rows of small, short, tiled and heap bins to the list, one bin after the other from `at`
/// on, and groups of window rows. The order within a list may differ from run to run; the results
/// do not.
template <class I>
__global__ void deal_kernel(std::size_t rows, row_bin const* bins, std::uint8_t const* same,
                            int group_rows, I* list, window_group<I>* groups,
                            unsigned long long* at) {
  __shared__ unsigned count[row_bins];
  __shared__ unsigned long long base[row_bins];
  if (threadIdx.x < row_bins)
    count[threadIdx.x] = 0;
  __syncthreads();
  std::size_t const i = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  row_bin const bin = i < rows ? bins[i] : row_bin::empty;
  int const led = bin == row_bin::window ? rows_led(i, rows, same, group_rows) : 0;
  bool const listed = bin > row_bin::window || led > 0;
  unsigned const place = listed ? atomicAdd(&count[static_cast<int>(bin)], 1u) : 0;
  __syncthreads();
  if (threadIdx.x < row_bins && count[threadIdx.x] != 0)
    base[threadIdx.x] =
        atomicAdd(at + threadIdx.x, static_cast<unsigned long long>(count[threadIdx.x]));
  __syncthreads();
  if (!listed)
    return;
  if (bin == row_bin::window)
    groups[base[static_cast<int>(bin)] + place] = {static_cast<I>(i), static_cast<I>(led)};
  else
    list[base[static_cast<int>(bin)] + place] = static_cast<I>(i);
}

/// Sorts heap rows by their products, so that those of a warp have similar numbers: in the thesis
/// each number is a bin.
template <class I, class O>
void order_heap_rows(product_state const& p, pattern<I, O> const& a, pattern<I, O> const& b) {
  std::size_t const n = rows_in(p, row_bin::heap);
  auto* const list = const_cast<I*>(listed<I>(p, row_bin::heap));
  auto const rows = static_cast<std::int64_t>(a.rows);
  scratch<std::int64_t> const keys(n, p.stream), sorted(n, p.stream);
  each(n, p.stream, [=, key = keys.get()] __device__(std::size_t k) {
    std::int64_t products = 0;
    for (O e = a.ptr[list[k]]; e < a.ptr[list[k] + 1]; ++e)
      products += b.ptr[a.col[e] + 1] - b.ptr[a.col[e]];
    key[k] = products * rows + list[k];
  });
  sort_keys(static_cast<std::int64_t const*>(keys.get()), sorted.get(), n,
            (most_by_heap + 1) * rows, p.stream);
  each(n, p.stream, [=, key = sorted.get()] __device__(std::size_t k) {
    list[k] = static_cast<I>(key[k] % rows);
  });
}

} // namespace
} // namespace tulle::kernels::cuda
