// SPDX-License-Identifier: Apache-2.0

// The module's table: devices, memory, and the kernels that formats.def promises.
#include "tulle/core/types.hpp"

#include "backend/cells.hpp"
#include "cuda/check.cuh"
#include "cuda/dense.hpp"
#include "cuda/types.hpp"

#include <cstdio>

namespace tulle::kernels::cuda {
namespace {

cudaStream_t as_stream(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

outcome count(int& devices) {
  return guarded([&] { TULLE_CUDA(cudaGetDeviceCount, &devices); });
}

outcome describe(int device, device_properties& to) {
  return guarded([&] {
    device_guard const on(device);
    if (device < 0)
      TULLE_CUDA(cudaGetDevice, &device);
    cudaDeviceProp p;
    TULLE_CUDA(cudaGetDeviceProperties, &p, device);
    std::snprintf(to.name, sizeof to.name, "%s", p.name);
    std::snprintf(to.architecture, sizeof to.architecture, "sm_%d%d", p.major, p.minor);
    to.units = p.multiProcessorCount;
    to.l2 = static_cast<std::size_t>(p.l2CacheSize);
    TULLE_CUDA(cudaMemGetInfo, &to.free_memory, &to.memory);
  });
}

// A pool grows in pieces of 32 MiB. Mapping them takes the driver .9 ms per GB on an H200, one
// large piece .05.
constexpr std::size_t large_bytes = std::size_t{32} << 20;

/// Whether the pool need not grow for that many bytes, or is set to keep its memory.
bool is_in_pool(std::size_t bytes) {
  int device = 0;
  cudaMemPool_t pool = nullptr;
  std::uint64_t kept = 0, all = 0, used = 0;
  TULLE_CUDA(cudaGetDevice, &device);
  TULLE_CUDA(cudaDeviceGetMemPool, &pool, device);
  TULLE_CUDA(cudaMemPoolGetAttribute, pool, cudaMemPoolAttrReleaseThreshold, &kept);
  TULLE_CUDA(cudaMemPoolGetAttribute, pool, cudaMemPoolAttrReservedMemCurrent, &all);
  TULLE_CUDA(cudaMemPoolGetAttribute, pool, cudaMemPoolAttrUsedMemCurrent, &used);
  return kept != 0 || all - used >= bytes;
}

/// Whether the driver gave the memory in one piece; cudaFreeAsync frees it in stream order like any
/// other. Idle memory of the pool is only available from the pool.
bool take_whole(std::size_t bytes, void*& to) {
  auto mode = cudaStreamCaptureModeRelaxed; // does not affect graphs that other threads capture
  TULLE_CUDA(cudaThreadExchangeStreamCaptureMode, &mode);
  bool const is_taken = cudaMalloc(&to, bytes) == cudaSuccess;
  if (!is_taken)
    cudaGetLastError(); // clears the error, which the next call would find
  TULLE_CUDA(cudaThreadExchangeStreamCaptureMode, &mode);
  return is_taken;
}

outcome allocate(work_place const& at, std::size_t bytes, void*& to) {
  return guarded([&] {
    device_guard const on(at.device);
    if (bytes < large_bytes || is_in_pool(bytes) || !take_whole(bytes, to))
      TULLE_CUDA(cudaMallocAsync, &to, bytes, as_stream(at.queue));
  });
}

outcome deallocate(work_place const& at, void* p) {
  return guarded([&] {
    device_guard const on(at.device);
    TULLE_CUDA(cudaFreeAsync, p, as_stream(at.queue));
  });
}

outcome copy(work_place const& at, void* to, void const* from, std::size_t bytes) {
  return guarded([&] {
    device_guard const on(at.device);
    TULLE_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDefault, as_stream(at.queue));
  });
}

outcome set(work_place const& at, void* to, unsigned char byte, std::size_t bytes) {
  return guarded([&] {
    device_guard const on(at.device);
    TULLE_CUDA(cudaMemsetAsync, to, byte, bytes, as_stream(at.queue));
  });
}

outcome wait(work_place const& at) {
  return guarded([&] {
    device_guard const on(at.device);
    TULLE_CUDA(cudaStreamSynchronize, as_stream(at.queue));
  });
}

struct timer {
  cudaEvent_t begin = nullptr, end = nullptr;
};

outcome timer_make(int device, void*& to) {
  return guarded([&] {
    device_guard const on(device);
    timer made;
    TULLE_CUDA(cudaEventCreate, &made.begin);
    TULLE_CUDA(cudaEventCreate, &made.end);
    to = new timer(made);
  });
}

outcome timer_start(void* t, void* stream) {
  return guarded(
      [&] { TULLE_CUDA(cudaEventRecord, static_cast<timer*>(t)->begin, as_stream(stream)); });
}

outcome timer_stop(void* t, void* stream, double& seconds) {
  return guarded([&] {
    timer const& two = *static_cast<timer*>(t);
    TULLE_CUDA(cudaEventRecord, two.end, as_stream(stream));
    TULLE_CUDA(cudaEventSynchronize, two.end);
    float milliseconds = 0;
    TULLE_CUDA(cudaEventElapsedTime, &milliseconds, two.begin, two.end);
    seconds = 1e-3 * static_cast<double>(milliseconds);
  });
}

outcome timer_drop(void* t) {
  return guarded([&] {
    timer const two = *static_cast<timer*>(t);
    delete static_cast<timer*>(t);
    TULLE_CUDA(cudaEventDestroy, two.begin);
    TULLE_CUDA(cudaEventDestroy, two.end);
  });
}

} // namespace

#define TULLE_CELLS_OF CUDA
#define TULLE_CELLS_CONVERT 1
#include "backend/cells.inc"
#undef TULLE_CELLS_CONVERT
#undef TULLE_CELLS_OF

#define TULLE_DECLARE(tag, V, I, O) extern product_kernel const product_##tag;
TULLE_ALL_TYPES(TULLE_DECLARE)
#undef TULLE_DECLARE
#define TULLE_DECLARE(tag, V, I, O) extern dynamic_kernel const dynamic_##tag;
TULLE_TYPES(TULLE_DECLARE)
#undef TULLE_DECLARE

namespace {

spmv_kernel const* spmv(int format, int type) {
  return cells[format].spmv[type];
}
spmm_kernel const* spmm(int format, int type) {
  return cells[format].spmm[type];
}
conversion const* convert(int format, int type) {
  return cells[format].convert[type];
}

#define TULLE_CELL(tag, V, I, O) &product_##tag,
constexpr product_kernel const* products[type_count] = {TULLE_ALL_TYPES(TULLE_CELL)};
#undef TULLE_CELL
product_kernel const* spgemm(int type) {
  return products[type];
}

#define TULLE_CELL(tag, V, I, O) &dynamic_##tag,
constexpr dynamic_kernel const* dynamics[type_count] = {TULLE_TYPES(TULLE_CELL)};
#undef TULLE_CELL
dynamic_kernel const* dynamic(int type) {
  return dynamics[type];
}

constexpr backend_table table = {backend_version,
                                 backend::cuda,
                                 count,
                                 describe,
                                 allocate,
                                 deallocate,
                                 copy,
                                 set,
                                 wait,
                                 timer_make,
                                 timer_start,
                                 timer_stop,
                                 timer_drop,
                                 scale_there,
                                 conjugate_there,
                                 copy_column_there,
                                 spmv,
                                 spmm,
                                 convert,
                                 spgemm,
                                 dynamic};

} // namespace
} // namespace tulle::kernels::cuda

extern "C" __attribute__((visibility("default"))) tulle::backend_table const* tulle_backend() {
  return &tulle::kernels::cuda::table;
}
