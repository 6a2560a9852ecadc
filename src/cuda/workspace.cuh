// SPDX-License-Identifier: Apache-2.0

// Device memory of plans: pieces of a workspace, and memory needed only while a plan is made.
#pragma once
#include "tulle/core/fail.hpp"

#include "cuda/check.cuh"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tulle::kernels::cuda {

/// Pieces of a workspace, one after the other, each aligned.
class carver {
public:
  explicit carver(void* p = nullptr) : p_(static_cast<char*>(p)) {}
  template <class T>
  T* take(std::size_t n) {
    auto* const at = p_ ? reinterpret_cast<T*>(p_ + used_) : nullptr;
    used_ += (n * sizeof(T) + 255) / 256 * 256;
    return at;
  }
  std::size_t used() const { return used_; }

private:
  char* p_;
  std::size_t used_ = 0;
};

/// The limit of this thread's scratch memory; set while a plan or a conversion is made.
class scratch_limit {
public:
  explicit scratch_limit(std::size_t bytes) : before_(left()) { left() = bytes; }
  ~scratch_limit() { left() = before_; }
  scratch_limit(scratch_limit const&) = delete;
  scratch_limit& operator=(scratch_limit const&) = delete;

  static void take(std::size_t bytes) {
    if (bytes > left())
      fail(errc::out_of_memory, "workspace: %zu bytes more would pass the limit by %zu", bytes,
           bytes - left());
    left() -= bytes;
  }
  static void give(std::size_t bytes) { left() += bytes; }
  static std::size_t rest() { return left(); }

private:
  static std::size_t& left() {
    static thread_local std::size_t bytes = SIZE_MAX;
    return bytes;
  }
  std::size_t before_;
};

/// Device memory from the stream's pool, while a plan or a conversion is made.
template <class T>
class scratch {
public:
  scratch(std::size_t n, void* stream)
      : stream_(static_cast<cudaStream_t>(stream)), bytes_(n * sizeof(T) + 1) {
    scratch_limit::take(bytes_);
    cudaError_t const error = cudaMallocAsync(&p_, bytes_, stream_);
    if (error != cudaSuccess)
      scratch_limit::give(bytes_);
    check(error, "cudaMallocAsync");
  }
  ~scratch() {
    cudaFreeAsync(p_, stream_);
    scratch_limit::give(bytes_);
  }
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  T* get() const { return static_cast<T*>(p_); }

private:
  void* p_ = nullptr;
  cudaStream_t stream_;
  std::size_t bytes_;
};

/// Copies device memory to the host; waits for it.
template <class T>
std::vector<T> fetch(T const* from, std::size_t n, void* stream) {
  auto const s = static_cast<cudaStream_t>(stream);
  std::vector<T> to(n);
  if (n == 0)
    return to;
  TULLE_CUDA(cudaMemcpyAsync, to.data(), from, n * sizeof(T), cudaMemcpyDeviceToHost, s);
  TULLE_CUDA(cudaStreamSynchronize, s);
  return to;
}

/// A counter of kernels, used while a plan is made; it starts at 0.
class counter {
public:
  explicit counter(void* stream) : memory_(1, stream), stream_(static_cast<cudaStream_t>(stream)) {
    TULLE_CUDA(cudaMemsetAsync, get(), 0, sizeof(unsigned long long), stream_);
  }
  unsigned long long* get() const { return memory_.get(); }
  /// Waits for it.
  std::int64_t value() const { return static_cast<std::int64_t>(fetch(get(), 1, stream_)[0]); }

private:
  scratch<unsigned long long> memory_;
  cudaStream_t stream_;
};

} // namespace tulle::kernels::cuda
