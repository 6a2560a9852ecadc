// SPDX-License-Identifier: Apache-2.0

// Device memory of plans: pieces of a workspace, and what is needed only while a plan is made.
#pragma once
#include "cuda/check.cuh"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tulle::simt {

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

/// Device memory while a plan is made, from the stream's pool.
template <class T>
class scratch {
public:
  scratch(std::size_t n, void* stream) : stream_(static_cast<cudaStream_t>(stream)) {
    TULLE_CUDA(cudaMallocAsync, &p_, n * sizeof(T) + 1, stream_);
  }
  ~scratch() { cudaFreeAsync(p_, stream_); }
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  T* get() const { return static_cast<T*>(p_); }

private:
  void* p_ = nullptr;
  cudaStream_t stream_;
};

/// Device memory as it is on the host; waits for it.
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

/// A number that kernels count in while a plan is made; it starts at 0.
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

} // namespace tulle::simt
