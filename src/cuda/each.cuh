// SPDX-License-Identifier: Apache-2.0

// f(k) for all k below n, on the device: by one thread each, by one warp each, or folded to one
// number.
#pragma once
#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"
#include "cuda/workspace.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr int each_threads = 256;
constexpr std::size_t fold_blocks = 1024; // few: each warp of them adds to one counter

template <class F>
__global__ void each_kernel(std::size_t n, F f) {
  std::size_t const k = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  if (k < n)
    f(k);
}
/// f(k), by one thread each.
template <class F>
void each(std::size_t n, void* stream, F const& f) {
  launch(each_kernel<F>, ceil_div(n, std::size_t{each_threads}), each_threads, stream, n, f);
}

template <class F>
__global__ void each_warp_kernel(std::size_t n, F f) {
  std::size_t const k = (blockIdx.x * std::size_t{each_threads} + threadIdx.x) / 32;
  if (k < n)
    f(k, static_cast<int>(threadIdx.x % 32));
}
/// f(k, lane), by one warp each.
template <class F>
void each_warp(std::size_t n, void* stream, F const& f) {
  launch(each_warp_kernel<F>, ceil_div(n, std::size_t{each_threads / 32}), each_threads, stream, n,
         f);
}

/// Ways to fold numbers; `start` is the initial value.
struct sum {
  static constexpr unsigned long long start = 0;
  __device__ static unsigned long long join(unsigned long long a, unsigned long long b) {
    return a + b;
  }
  __device__ static void add(unsigned long long* to, unsigned long long v) { atomicAdd(to, v); }
};
struct greatest {
  static constexpr unsigned long long start = 0;
  __device__ static unsigned long long join(unsigned long long a, unsigned long long b) {
    return a > b ? a : b;
  }
  __device__ static void add(unsigned long long* to, unsigned long long v) { atomicMax(to, v); }
};
struct least {
  static constexpr unsigned long long start = ~0ull;
  __device__ static unsigned long long join(unsigned long long a, unsigned long long b) {
    return a < b ? a : b;
  }
  __device__ static void add(unsigned long long* to, unsigned long long v) { atomicMin(to, v); }
};

/// Folds the values of all threads of the warp into *to.
template <class Fold>
__device__ void fold_warp(unsigned long long v, unsigned long long* to) {
#pragma unroll
  for (int d = 16; d > 0; d /= 2)
    v = Fold::join(v, __shfl_xor_sync(whole_warp, v, d));
  if (threadIdx.x % 32 == 0 && v != Fold::start)
    Fold::add(to, v);
}

template <class Fold, class F>
__global__ void fold_kernel(std::size_t n, F f, unsigned long long* to) {
  unsigned long long v = Fold::start;
  for (std::size_t k = blockIdx.x * std::size_t{each_threads} + threadIdx.x; k < n;
       k += gridDim.x * std::size_t{each_threads})
    v = Fold::join(v, static_cast<unsigned long long>(f(k)));
  fold_warp<Fold>(v, to);
}
/// fold<sum>(n, stream, f): the sum of f(k). Integers, so in any order. Waits for the result.
template <class Fold, class F>
std::size_t fold(std::size_t n, void* stream, F const& f) {
  if (n == 0)
    return Fold::start;
  counter const to(stream);
  if (Fold::start != 0)
    TULLE_CUDA(cudaMemsetAsync, to.get(), 0xff, sizeof Fold::start,
               static_cast<cudaStream_t>(stream));
  launch(fold_kernel<Fold, F>, std::min(fold_blocks, ceil_div(n, std::size_t{each_threads})),
         each_threads, stream, n, f, to.get());
  return static_cast<std::size_t>(to.value());
}

} // namespace
} // namespace tulle::kernels::cuda
