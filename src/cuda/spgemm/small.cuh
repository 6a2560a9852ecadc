// SPDX-License-Identifier: Apache-2.0

// Rows of C that are made of at most sixteen rows of B: a thread merges them as tiny rows, but they
// come from a list, since they are scattered, and each thread writes its own row.
#pragma once
#include "cuda/spgemm/tiny.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr int small_threads = 64;

template <class I, class O>
__global__ void __launch_bounds__(small_threads)
    small_count_kernel(pattern<I, O> a, pattern<I, O> b, I const* list, std::size_t rows,
                       O* counts) {
  std::size_t const k = blockIdx.x * std::size_t{small_threads} + threadIdx.x;
  if (k >= rows)
    return;
  I const i = list[k];
  counts[i] = merge<small_terms, false, plus_times, float>(a.ptr[i], a.ptr[i + 1], a, nullptr, b,
                                                           nullptr, [](int, I, float) {});
}

template <class S, class V, class I, class O>
__global__ void __launch_bounds__(small_threads)
    small_fill_kernel(pattern<I, O> a, V const* a_val, pattern<I, O> b, V const* b_val,
                      I const* list, std::size_t rows, O const* c_ptr, I* c_col, V* c_val,
                      bool with_columns) {
  std::size_t const k = blockIdx.x * std::size_t{small_threads} + threadIdx.x;
  if (k >= rows)
    return;
  I const i = list[k];
  O const at = c_ptr[i];
  merge<small_terms, true, S>(a.ptr[i], a.ptr[i + 1], a, a_val, b, b_val, [&](int n, I j, V sum) {
    c_val[at + n] = sum;
    if (with_columns)
      c_col[at + n] = j;
  });
}

template <class I, class O>
void count_small(product_state const& p, pattern<I, O> const& a, pattern<I, O> const& b,
                 O* counts) {
  std::size_t const rows = rows_in(p, row_bin::small);
  launch(small_count_kernel<I, O>, ceil_div(rows, std::size_t{small_threads}), small_threads,
         p.stream, a, b, listed<I>(p, row_bin::small), rows, counts);
}

template <class S = plus_times, class V, class I, class O>
void fill_small(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                O const* c_ptr, I* c_col, V* c_val, bool with_columns) {
  std::size_t const rows = rows_in(p, row_bin::small);
  launch(small_fill_kernel<S, V, I, O>, ceil_div(rows, std::size_t{small_threads}), small_threads,
         p.stream, a, a.val, b, b.val, listed<I>(p, row_bin::small), rows, c_ptr, c_col, c_val,
         with_columns);
}

} // namespace
} // namespace tulle::kernels::cuda
