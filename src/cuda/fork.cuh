// SPDX-License-Identifier: Apache-2.0

// Streams beside one, for launches that need not wait for each other.
#pragma once
#include "cuda/check.cuh"

#include <memory>
#include <vector>

namespace tulle::simt {

/// What stands on the stream comes before all that is put on those beside it; what is put on it
/// when the fork is gone comes after.
class fork {
public:
  static constexpr int most = 8;

  /// With `is_wanted` false there is nothing beside.
  fork(void* stream, bool is_wanted)
      : stream_(static_cast<cudaStream_t>(stream)), sides_(is_wanted ? &here() : nullptr) {
    if (sides_)
      TULLE_CUDA(cudaEventRecord, sides_->begin, stream_);
  }
  ~fork() {
    for (int k = 0; k < most; ++k)
      if (used_[k]) {
        cudaEventRecord(sides_->end[k], sides_->stream[k]);
        cudaStreamWaitEvent(stream_, sides_->end[k], 0);
      }
  }
  fork(fork const&) = delete;
  fork& operator=(fork const&) = delete;

  /// One of those beside it.
  void* side(int k) {
    if (!sides_)
      return stream_;
    if (!used_[k])
      TULLE_CUDA(cudaStreamWaitEvent, sides_->stream[k], sides_->begin, 0);
    used_[k] = true;
    return sides_->stream[k];
  }

private:
  struct sides {
    int device = 0;
    cudaStream_t stream[most] = {};
    cudaEvent_t begin = nullptr, end[most] = {};
    ~sides() {
      for (int k = 0; k < most; ++k) {
        cudaStreamDestroy(stream[k]);
        cudaEventDestroy(end[k]);
      }
      cudaEventDestroy(begin);
    }
  };
  /// The thread's own, of the current device.
  static sides& here() {
    static thread_local std::vector<std::unique_ptr<sides>> all;
    int device = 0;
    TULLE_CUDA(cudaGetDevice, &device);
    for (auto const& s : all)
      if (s->device == device)
        return *s;
    auto made = std::make_unique<sides>();
    made->device = device;
    TULLE_CUDA(cudaEventCreateWithFlags, &made->begin, cudaEventDisableTiming);
    for (int k = 0; k < most; ++k) {
      TULLE_CUDA(cudaStreamCreateWithFlags, &made->stream[k], cudaStreamNonBlocking);
      TULLE_CUDA(cudaEventCreateWithFlags, &made->end[k], cudaEventDisableTiming);
    }
    return *all.emplace_back(std::move(made));
  }

  cudaStream_t stream_;
  sides* sides_;
  bool used_[most] = {};
};

} // namespace tulle::simt
