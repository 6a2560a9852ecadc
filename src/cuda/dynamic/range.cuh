// SPDX-License-Identifier: Apache-2.0

// A range of device addresses that is backed with memory as it is needed: range.cu.
#pragma once
#include "cuda/check.cuh"

#include <cstddef>
#include <vector>

namespace tulle::kernels::cuda {

/// Addresses for up to `most` bytes, of which the first ones are mapped: it grows without moving
/// the contents. The memory comes from the driver, in pieces of its granularity.
class growing_range {
public:
  growing_range(int device, void* stream, std::size_t most);
  /// Waits for the stream.
  ~growing_range();
  growing_range(growing_range const&) = delete;
  growing_range& operator=(growing_range const&) = delete;

  /// Maps at least so many bytes, or fails without mapping any more.
  void grow(std::size_t bytes);
  void* data() const { return reinterpret_cast<void*>(begin_); }
  std::size_t bytes() const { return mapped_; }

private:
  struct piece {
    unsigned long long handle;
    std::size_t bytes;
  };
  int device_;
  cudaStream_t stream_;
  unsigned long long begin_ = 0;
  std::size_t granularity_ = 0, reserved_ = 0, mapped_ = 0;
  std::vector<piece> pieces_;
};

} // namespace tulle::kernels::cuda
