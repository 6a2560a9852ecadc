// SPDX-License-Identifier: Apache-2.0

// C = beta C, of any strides; C is not read where beta is zero.
#pragma once
#include "tulle/view/dense.hpp"

#include "cuda/instantiate.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr int scale_dense_threads = 256;

template <class V>
__global__ void scale_dense_kernel(V beta, V* c, std::size_t lines, std::size_t length,
                                   std::size_t line, std::size_t step) {
  std::size_t const k = blockIdx.x * std::size_t{scale_dense_threads} + threadIdx.x;
  if (k >= lines * length)
    return;
  V& v = c[k / length * line + k % length * step];
  v = beta == V(0) ? V(0) : beta * v;
}
template <class V>
void scale_dense(V beta, detail::dense_ref const& c, void* stream) {
  bool const by_rows = c.row_stride >= c.col_stride;
  launch(scale_dense_kernel<V>, ceil_div(c.rows * c.cols, std::size_t{scale_dense_threads}),
         scale_dense_threads, stream, beta, static_cast<V*>(c.data), by_rows ? c.rows : c.cols,
         by_rows ? c.cols : c.rows, by_rows ? c.row_stride : c.col_stride,
         by_rows ? c.col_stride : c.row_stride);
}

} // namespace
} // namespace tulle::kernels::cuda
