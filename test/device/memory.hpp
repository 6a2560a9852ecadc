// SPDX-License-Identifier: Apache-2.0

/// Device memory for tests.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <memory_resource>
#include <new>

namespace tulle::test {

/// Bytes that the device's pool has given and not got back.
inline std::size_t used_of_pool() {
  cudaMemPool_t pool = nullptr;
  std::uint64_t used = 0;
  cudaDeviceSynchronize();
  cudaDeviceGetDefaultMemPool(&pool, 0);
  cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  return static_cast<std::size_t>(used);
}

/// Device memory that is counted and fails when told to.
struct counted final : std::pmr::memory_resource {
  std::size_t now = 0, most = 0; // bytes
  std::size_t left = SIZE_MAX;   // allocations until it fails
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* p = nullptr;
    if (left-- == 0 || cudaMalloc(&p, bytes) != cudaSuccess)
      throw std::bad_alloc();
    most = std::max(most, now += bytes);
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t) override {
    now -= bytes;
    cudaFree(p);
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }
};

} // namespace tulle::test
