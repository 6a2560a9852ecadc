// SPDX-License-Identifier: Apache-2.0

// What a kernel file includes.
#pragma once
#include "tulle/core/space.hpp"

#include "cuda/check.cuh"
#include "cuda/types.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tulle::kernels::cuda {

/// n / d, rounded up.
template <class T>
__host__ __device__ constexpr T ceil_div(T n, T d) {
  return (n + d - 1) / d;
}

/// A factor of a call, on the host.
template <class V>
V factor_at(void const* p) {
  V v; // *p may be less aligned than V: std::complex is
  std::memcpy(&v, p, sizeof v);
  return v;
}
/// Throws errc::bad_structure where values are not aligned to be read at once. Allocated memory
/// always is.
template <class... V>
void check_aligned(V const*... p) {
  if (((reinterpret_cast<std::uintptr_t>(p) % alignof(V) != 0) || ...))
    fail(errc::bad_structure, "cuda: values that do not lie at a multiple of their size");
}

/// y[i] = alpha * sum + beta * y[i]; y is not read where beta is zero.
template <class V>
__device__ void update(V* y, V alpha, V sum, V beta) {
  *y = beta == V(0) ? alpha * sum : fma(alpha, sum, beta * *y);
}

/// The most blocks of `threads` threads that a grid holds in one dimension.
inline constexpr std::size_t most_blocks = 2147483647;

/// kernel<<<blocks, threads, shared, stream>>>(arguments...); no launch if blocks == 0.
template <class... P, class... A>
void launch(void (*kernel)(P...), std::size_t blocks, int threads, void* stream, A const&... a) {
  if (blocks == 0)
    return;
  if (blocks > most_blocks)
    check(cudaErrorInvalidConfiguration, "launch: more blocks than a grid holds");
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0,
           static_cast<cudaStream_t>(stream)>>>(a...);
  check(cudaGetLastError(), "launch");
}
/// The same with dynamic shared memory, beyond 48 KiB too.
template <class... P, class... A>
void launch_shared(void (*kernel)(P...), std::size_t blocks, int threads, std::size_t shared,
                   void* stream, A const&... a) {
  if (blocks == 0)
    return;
  if (blocks > most_blocks)
    check(cudaErrorInvalidConfiguration, "launch: more blocks than a grid holds");
  if (shared > 48 * 1024) // never less, since another thread may rely on the limit
    TULLE_CUDA(cudaFuncSetAttribute, reinterpret_cast<void const*>(kernel),
               cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared,
           static_cast<cudaStream_t>(stream)>>>(a...);
  check(cudaGetLastError(), "launch");
}

/// Like launch_shared(), but it is set up while the previous launch still runs, from compute
/// capability 9.0 on: its threads call wait_for_launch_before() before they read what others wrote,
/// or access y. A product of a few microseconds takes a tenth less, one of 70 a fiftieth.
template <class... P, class... A>
void launch_early_shared(void (*kernel)(P...), std::size_t blocks, int threads, std::size_t shared,
                         void* stream, A const&... a) {
  if (blocks == 0)
    return;
  if (blocks > most_blocks)
    check(cudaErrorInvalidConfiguration, "launch: more blocks than a grid holds");
  if (shared > 48 * 1024)
    TULLE_CUDA(cudaFuncSetAttribute, reinterpret_cast<void const*>(kernel),
               cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  int device = 0, major = 0;
  TULLE_CUDA(cudaGetDevice, &device);
  TULLE_CUDA(cudaDeviceGetAttribute, &major, cudaDevAttrComputeCapabilityMajor, device);
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = dim3(static_cast<unsigned>(blocks));
  how.blockDim = dim3(static_cast<unsigned>(threads));
  how.dynamicSmemBytes = shared;
  how.stream = static_cast<cudaStream_t>(stream);
  how.attrs = &early;
  how.numAttrs = major >= 9;
  TULLE_CUDA(cudaLaunchKernelEx, &how, kernel, P(a)...);
}
/// The same without dynamic shared memory.
template <class... P, class... A>
void launch_early(void (*kernel)(P...), std::size_t blocks, int threads, void* stream,
                  A const&... a) {
  launch_early_shared(kernel, blocks, threads, 0, stream, a...);
}
__device__ inline void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}
/// Lets the blocks of the next launch begin. Only for a second launch of the same call: waiting
/// blocks of the next product take room next to working ones, so that multiprocessors are loaded
/// unevenly (dense in bcsr 11.2 us instead of 8.1, in dia 225 instead of 185).
__device__ inline void let_next_launch_begin() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

} // namespace tulle::kernels::cuda

// A cell calls the file's own prepare(view, plan), fill(view, plan) and
// spmv(alpha, view, x, beta, y, plan, stream), all of internal linkage.
#define TULLE_CUDA_SPMV_CELL(tag, V, I, O, format)                                                 \
  static outcome prepare_##format##_##tag(void const* a, plan_view& p, std::size_t& bytes) {       \
    return guarded([&] {                                                                           \
      device_guard const on(p.device);                                                             \
      bytes = prepare(*static_cast<format##_view<V, I, O, space::cuda> const*>(a), p);             \
    });                                                                                            \
  }                                                                                                \
  static outcome fill_##format##_##tag(void const* a, plan_view& p) {                              \
    return guarded([&] {                                                                           \
      device_guard const on(p.device);                                                             \
      fill(*static_cast<format##_view<V, I, O, space::cuda> const*>(a), p);                        \
    });                                                                                            \
  }                                                                                                \
  static outcome run_##format##_##tag(spmv_call const& c) {                                        \
    return guarded([&] {                                                                           \
      device_guard const on(c.plan->device);                                                       \
      spmv(factor_at<V>(c.alpha), *static_cast<format##_view<V, I, O, space::cuda> const*>(c.a),   \
           static_cast<V const*>(c.x), factor_at<V>(c.beta), static_cast<V*>(c.y), *c.plan,        \
           c.stream);                                                                              \
    });                                                                                            \
  }                                                                                                \
  extern spmv_kernel const spmv_##format##_##tag;                                                  \
  spmv_kernel const spmv_##format##_##tag = {prepare_##format##_##tag, fill_##format##_##tag,      \
                                             run_##format##_##tag};

/// The kernel for every pair of TULLE_TYPES.
#define TULLE_INSTANTIATE_CUDA_SPMV(format) TULLE_TYPES(TULLE_CUDA_SPMV_CELL, format)
/// The kernel for every pair of types.def.
#define TULLE_INSTANTIATE_CUDA_SPMV_BASIC(format) TULLE_KERNEL_TYPES(TULLE_CUDA_SPMV_CELL, format)
