// SPDX-License-Identifier: Apache-2.0

// Rows of C that are made of at most eight rows of B: a thread merges them, their heads in
// registers. Columns come in order, equal columns in the order of A's row.
//
// A block's rows are written together, through shared memory: 1.6 times as fast as each thread
// writing its own on an H200. Sorting the products in a warp took 2.2 times as long.
#pragma once
#include "cuda/spgemm/pattern.cuh"

#include <limits>

namespace tulle::kernels::cuda {
namespace {

constexpr int tiny_threads = 128;
// Entries of a block's rows; if there are more, they are written directly.
constexpr int staged_entries = 17 * tiny_threads;
/// Fewer where values take twice the shared memory.
template <class V>
constexpr int staged_entries_of = sizeof(V) <= 8 ? staged_entries : 9 * tiny_threads;

/// Calls f(place, column, sum over S) for each entry of row i, in order; returns their number. The
/// values of an operand are read if it has any.
template <int terms, bool has_values, class S, class V, class I, class O, class F>
__device__ int merge(O begin, O end, pattern<I, O> const& a, V const* a_val, pattern<I, O> const& b,
                     V const* b_val, F f) {
  constexpr I none = std::numeric_limits<I>::max(); // no column: columns are less than cols
  I head[terms];
  O at[terms], stop[terms];
  V factor[terms];
#pragma unroll
  for (int t = 0; t < terms; ++t) {
    at[t] = stop[t] = 0;
    factor[t] = V(0);
    if (t < end - begin) {
      I const j = a.col[begin + t];
      at[t] = b.ptr[j];
      stop[t] = b.ptr[j + 1];
      if (has_values)
        factor[t] = a_val[begin + t];
    }
  }
#pragma unroll
  for (int t = 0; t < terms; ++t)
    head[t] = at[t] < stop[t] ? b.col[at[t]] : none;
  for (int n = 0;; ++n) {
    I least = head[0];
#pragma unroll
    for (int t = 1; t < terms; ++t)
      least = min(least, head[t]);
    if (least == none)
      return n;
    V sum = nothing<V>();
    bool is_first = true;
#pragma unroll
    for (int t = 0; t < terms; ++t)
      if (head[t] == least) {
        if (has_values) {
          V const product = S().multiply(factor[t], b_val[at[t]]);
          sum = is_usual<S> || !is_first ? S().add(sum, product) : product;
          is_first = false;
        }
        ++at[t];
        head[t] = at[t] < stop[t] ? b.col[at[t]] : none;
      }
    f(n, least, sum);
  }
}

template <int terms, class I, class O>
__global__ void __launch_bounds__(tiny_threads)
    tiny_count_kernel(pattern<I, O> a, pattern<I, O> b, row_bin const* bins, O* counts) {
  std::size_t const i = blockIdx.x * std::size_t{tiny_threads} + threadIdx.x;
  if (i >= static_cast<std::size_t>(a.rows) || bins[i] != row_bin::tiny)
    return;
  counts[i] = merge<terms, false, plus_times, float>(a.ptr[i], a.ptr[i + 1], a, nullptr, b, nullptr,
                                                     [](int, I, float) {});
}

template <int terms, class S, class V, class I, class O>
__global__ void __launch_bounds__(tiny_threads)
    tiny_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                     row_bin const* bins, O const* c_ptr, I* c_col, V* c_val, bool with_columns) {
  constexpr int staged_entries = staged_entries_of<V>;
  __shared__ V val[staged_entries];
  __shared__ I col[staged_entries];
  auto const rows = static_cast<std::size_t>(a.rows);
  std::size_t const first = blockIdx.x * std::size_t{tiny_threads};
  std::size_t const i = first + threadIdx.x;
  row_bin const bin = i < rows ? bins[i] : row_bin::empty;
  O const before = c_ptr[first];
  O const after = c_ptr[first + tiny_threads < rows ? first + tiny_threads : rows];
  bool const has_others = __syncthreads_or(bin > row_bin::tiny);
  bool const staged = !has_others && after - before <= staged_entries;
  if (bin == row_bin::tiny) {
    O const begin = a.ptr[i], end = a.ptr[i + 1], at = c_ptr[i];
    if (staged) {
      int const place = static_cast<int>(at - before);
      merge<terms, true, S>(begin, end, a, a_val, b, b_val, [&](int n, I j, V sum) {
        val[place + n] = sum;
        if (with_columns)
          col[place + n] = j;
      });
    } else {
      merge<terms, true, S>(begin, end, a, a_val, b, b_val, [&](int n, I j, V sum) {
        c_val[at + n] = sum;
        if (with_columns)
          c_col[at + n] = j;
      });
    }
  }
  if (!staged)
    return;
  __syncthreads();
  int const n = static_cast<int>(after - before);
  for (int k = threadIdx.x; k < n; k += tiny_threads) {
    c_val[before + k] = val[k];
    if (with_columns)
      c_col[before + k] = col[k];
  }
}

/// Calls f(terms), known to the compiler, for rows of A of at most that many entries; sums of other
/// semirings are compiled for one number only.
template <class S = plus_times, class F>
void with_terms(unsigned long long longest, F&& f) {
  if constexpr (is_usual<S>) {
    if (longest <= 4)
      return f(std::integral_constant<int, 4>());
    if (longest <= 5)
      return f(std::integral_constant<int, 5>());
  }
  f(std::integral_constant<int, tiny_terms>());
}

template <class I, class O>
void count_tiny(product_state const& p, pattern<I, O> const& a, pattern<I, O> const& b, O* counts) {
  if (rows_in(p, row_bin::tiny) == 0)
    return;
  std::size_t const blocks = ceil_div(static_cast<std::size_t>(a.rows), std::size_t{tiny_threads});
  with_terms(p.all.longest_tiny, [&](auto terms) {
    launch(tiny_count_kernel<terms(), I, O>, blocks, tiny_threads, p.stream, a, b, p.bins, counts);
  });
}

template <class S = plus_times, class V, class I, class O>
void fill_tiny(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
               O const* c_ptr, I* c_col, V* c_val, bool with_columns) {
  if (rows_in(p, row_bin::tiny) == 0)
    return;
  std::size_t const blocks = ceil_div(static_cast<std::size_t>(a.rows), std::size_t{tiny_threads});
  with_terms<S>(p.all.longest_tiny, [&](auto terms) {
    launch(tiny_fill_kernel<terms(), S, V, I, O>, blocks, tiny_threads, p.stream, a, a.val, b,
           b.val, p.bins, c_ptr, c_col, c_val, with_columns);
  });
}

} // namespace
} // namespace tulle::kernels::cuda
