// SPDX-License-Identifier: Apache-2.0

// The module's table: devices, memory, and the kernels that formats.def promises.
#include "tulle/core/types.hpp"

#include "cuda/conjugate.cuh"
#include "cuda/scale.cuh"
#include "cuda/types.hpp"

#include <cstdio>

namespace tulle::simt {
namespace {

enum : unsigned { NONE, CPU, CUDA, OPENCL = 4 }; // the words of formats.def

cudaStream_t as_stream(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

cuda_status count(int& devices) {
  return guarded([&] { TULLE_CUDA(cudaGetDeviceCount, &devices); });
}

cuda_status describe(int device, cuda_properties& to) {
  return guarded([&] {
    device_guard const on(device);
    if (device < 0)
      TULLE_CUDA(cudaGetDevice, &device);
    cudaDeviceProp p;
    TULLE_CUDA(cudaGetDeviceProperties, &p, device);
    std::snprintf(to.name, sizeof to.name, "%s", p.name);
    to.major = p.major;
    to.minor = p.minor;
    to.multiprocessors = p.multiProcessorCount;
    to.l2 = static_cast<std::size_t>(p.l2CacheSize);
    TULLE_CUDA(cudaMemGetInfo, &to.free_memory, &to.memory);
  });
}

// A pool grows by pieces of 32 MiB. To map them takes the driver .9 ms a GB on an H200, and one
// large piece .05.
constexpr std::size_t large_bytes = std::size_t{32} << 20;

/// Whether the pool need not grow for that many bytes, or is told to keep what it once had.
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

/// Whether the driver gave them in one piece, which cudaFreeAsync takes back in the stream's order
/// like any other. Memory that the pool has idle, the pool alone can give.
bool take_whole(std::size_t bytes, void*& to) {
  auto mode = cudaStreamCaptureModeRelaxed; // no graph that some thread captures is concerned
  TULLE_CUDA(cudaThreadExchangeStreamCaptureMode, &mode);
  bool const is_taken = cudaMalloc(&to, bytes) == cudaSuccess;
  if (!is_taken)
    cudaGetLastError(); // else the next call that looks there finds it
  TULLE_CUDA(cudaThreadExchangeStreamCaptureMode, &mode);
  return is_taken;
}

cuda_status allocate(int device, void* stream, std::size_t bytes, void*& to) {
  return guarded([&] {
    device_guard const on(device);
    if (bytes < large_bytes || is_in_pool(bytes) || !take_whole(bytes, to))
      TULLE_CUDA(cudaMallocAsync, &to, bytes, as_stream(stream));
  });
}

cuda_status deallocate(int device, void* stream, void* p) {
  return guarded([&] {
    device_guard const on(device);
    TULLE_CUDA(cudaFreeAsync, p, as_stream(stream));
  });
}

cuda_status copy(int device, void* stream, void* to, void const* from, std::size_t bytes) {
  return guarded([&] {
    device_guard const on(device);
    TULLE_CUDA(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDefault, as_stream(stream));
  });
}

cuda_status set(int device, void* stream, void* to, unsigned char byte, std::size_t bytes) {
  return guarded([&] {
    device_guard const on(device);
    TULLE_CUDA(cudaMemsetAsync, to, byte, bytes, as_stream(stream));
  });
}

cuda_status synchronize(int device, void* stream) {
  return guarded([&] {
    device_guard const on(device);
    TULLE_CUDA(cudaStreamSynchronize, as_stream(stream));
  });
}

struct timer {
  cudaEvent_t begin = nullptr, end = nullptr;
};

cuda_status timer_make(int device, void*& to) {
  return guarded([&] {
    device_guard const on(device);
    timer made;
    TULLE_CUDA(cudaEventCreate, &made.begin);
    TULLE_CUDA(cudaEventCreate, &made.end);
    to = new timer(made);
  });
}

cuda_status timer_start(void* t, void* stream) {
  return guarded(
      [&] { TULLE_CUDA(cudaEventRecord, static_cast<timer*>(t)->begin, as_stream(stream)); });
}

cuda_status timer_stop(void* t, void* stream, double& seconds) {
  return guarded([&] {
    timer const& two = *static_cast<timer*>(t);
    TULLE_CUDA(cudaEventRecord, two.end, as_stream(stream));
    TULLE_CUDA(cudaEventSynchronize, two.end);
    float milliseconds = 0;
    TULLE_CUDA(cudaEventElapsedTime, &milliseconds, two.begin, two.end);
    seconds = 1e-3 * static_cast<double>(milliseconds);
  });
}

cuda_status timer_drop(void* t) {
  return guarded([&] {
    timer const two = *static_cast<timer*>(t);
    delete static_cast<timer*>(t);
    TULLE_CUDA(cudaEventDestroy, two.begin);
    TULLE_CUDA(cudaEventDestroy, two.end);
  });
}

#define TULLE_SCALE(tag, V, I, O)                                                                  \
  case type_tag::tag:                                                                              \
    check_aligned(static_cast<V const*>(y));                                                       \
    return scale(factor_at<V>(beta), static_cast<V*>(y), n, stream);
cuda_status scale_as(int device, void* stream, int type, void const* beta, void* y, std::size_t n) {
  return guarded([&] {
    device_guard const on(device);
    switch (static_cast<type_tag>(type)) { TULLE_KERNEL_TYPES(TULLE_SCALE) }
  });
}

#define TULLE_CONJUGATE(tag, V, I, O)                                                              \
  case type_tag::tag:                                                                              \
    return conjugate_dense<V>(from, to, stream);
cuda_status conjugate_as(int device, void* stream, int type, detail::dense_ref const& from,
                         detail::dense_ref const& to) {
  return guarded([&] {
    device_guard const on(device);
    switch (static_cast<type_tag>(type)) { TULLE_KERNEL_TYPES(TULLE_CONJUGATE) }
  });
}

} // namespace

#define TULLE_DECLARE(tag, V, I, O, format)                                                        \
  extern cuda_spmv_kernel const spmv_##format##_##tag;                                             \
  extern cuda_conversion const convert_##format##_##tag __attribute__((weak));
#define TULLE_EACH_every(X, ...) TULLE_TYPES(X, __VA_ARGS__)
#define TULLE_EACH_basic(X, ...) TULLE_ALL_TYPES(X, __VA_ARGS__)
#define TULLE_FORMAT(name, types, spmv, spmm) TULLE_EACH_##types(TULLE_DECLARE, name)
#include "tulle/format/formats.def"
#undef TULLE_FORMAT
#define TULLE_DECLARE_SPGEMM(tag, V, I, O) extern cuda_spgemm_kernel const spgemm_csr_##tag;
TULLE_ALL_TYPES(TULLE_DECLARE_SPGEMM)

namespace {

struct row {
  cuda_spmv_kernel const* cell[type_count];
};
#define TULLE_CELL(tag, V, I, O, format, backends)                                                 \
  ((backends)&CUDA) != 0 ? &spmv_##format##_##tag : nullptr,
#define TULLE_FORMAT(name, types, spmv, spmm) {{TULLE_EACH_##types(TULLE_CELL, name, spmv)}},
constexpr row kernels[] = {
#include "tulle/format/formats.def"
};
#undef TULLE_FORMAT

cuda_spmv_kernel const* spmv(int format, int type) {
  return kernels[format].cell[type];
}

// A conversion is there where its file is: src/cuda/convert/<format>.cu.
struct conversions {
  cuda_conversion const* cell[type_count];
};
#define TULLE_CONVERSION(tag, V, I, O, format) &convert_##format##_##tag,
#define TULLE_FORMAT(name, types, spmv, spmm) {{TULLE_EACH_##types(TULLE_CONVERSION, name)}},
conversions const all_conversions[] = {
#include "tulle/format/formats.def"
};
#undef TULLE_FORMAT

cuda_conversion const* convert(int format, int type) {
  return all_conversions[format].cell[type];
}

#define TULLE_SPGEMM(tag, V, I, O)                                                                 \
  case type_tag::tag:                                                                              \
    return &spgemm_csr_##tag;
cuda_spgemm_kernel const* spgemm(int type) {
  switch (static_cast<type_tag>(type)) { TULLE_ALL_TYPES(TULLE_SPGEMM) }
  return nullptr;
}

constexpr cuda_module table = {
    cuda_module_version, count,      describe,     allocate, deallocate, copy,   set,
    synchronize,         scale_as,   conjugate_as, spmv,     convert,    spgemm, timer_make,
    timer_start,         timer_stop, timer_drop};

} // namespace
} // namespace tulle::simt

extern "C" __attribute__((visibility("default"))) tulle::cuda_module const* tulle_cuda_module() {
  return &tulle::simt::table;
}
