// SPDX-License-Identifier: Apache-2.0

/// The laws of devices, held by a GPU: see device/under_test.hpp.
#pragma once
#include "tulle/core/registry.hpp"
#include "tulle/core/where.hpp"

#include <cstdint>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <string_view>

namespace tulle::test {

using policy = cuda;
inline constexpr space space_there = space::cuda;
inline constexpr backend backend_there = backend::cuda;

/// A stream of a test's own, as a policy.
struct own_queue {
  cudaStream_t handle = nullptr;
  own_queue() { EXPECT_EQ(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), cudaSuccess); }
  ~own_queue() { cudaStreamDestroy(handle); }
  own_queue(own_queue const&) = delete;
  own_queue& operator=(own_queue const&) = delete;
  operator cuda() const { return {.stream = handle}; }
  operator device() const { return cuda(*this); }
};

/// Bytes that the device's pool has given and not got back.
inline std::size_t bytes_in_use() {
  cudaMemPool_t pool = nullptr;
  std::uint64_t used = 0;
  cudaDeviceSynchronize();
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  return static_cast<std::size_t>(used);
}

/// Memory of no stream.
inline void* allocate_raw(std::size_t bytes) {
  void* p = nullptr;
  return cudaMalloc(&p, bytes) == cudaSuccess ? p : nullptr;
}
inline void deallocate_raw(void* p) {
  cudaFree(p);
}

/// Whether formats.def promises it on the device; what it does not is converted on the host alone.
inline bool is_on_device(format f) {
  return has_spmv(f, backend::cuda);
}

/// How paths begin there, what that of spmm with a csr has, and what fails where memory ends.
inline constexpr char const* path_there = "cuda/sm_";
inline constexpr char const* spmm_of_csr = " csr rows";
inline constexpr char const* allocation_there = "cudaMallocAsync";
inline constexpr bool has_dynamic = true;
/// Fewer and smaller matrices are enough: the library is tested there, not its kernels.
inline constexpr bool is_slow = false;

} // namespace tulle::test
