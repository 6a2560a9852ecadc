// SPDX-License-Identifier: Apache-2.0

// y = beta y; y is not read where beta is zero.
#pragma once
#include "cuda/instantiate.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr int scale_threads = 256;

template <class V>
__global__ void scale_kernel(V beta, V* y, std::size_t n) {
  std::size_t const i = blockIdx.x * std::size_t{scale_threads} + threadIdx.x;
  if (i < n)
    y[i] = beta == V(0) ? V(0) : beta * y[i];
}

template <class V>
void scale(V beta, V* y, std::size_t n, void* stream) {
  launch(scale_kernel<V>, ceil_div(n, std::size_t{scale_threads}), scale_threads, stream, beta, y,
         n);
}

} // namespace
} // namespace tulle::kernels::cuda
