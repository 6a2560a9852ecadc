// SPDX-License-Identifier: Apache-2.0

// Side streams of a caller's stream, for launches that need not wait for each other.
#pragma once
#include "cuda/check.cuh"

#include <memory>
#include <vector>

namespace tulle::kernels::cuda {

/// Work already on the stream ends before work on the side streams begins; work put on the stream
/// after the destructor begins when theirs has ended.
class side_streams {
public:
  static constexpr int most = 8, urgent = 3;

  /// With `is_wanted` false every side stream is the stream itself.
  side_streams(void* stream, bool is_wanted)
      : stream_(static_cast<cudaStream_t>(stream)), sides_(is_wanted ? &here() : nullptr) {
    if (sides_)
      TULLE_CUDA(cudaEventRecord, sides_->begin, stream_);
  }
  ~side_streams() {
    for (int k = 0; k < all; ++k)
      if (used_[k]) {
        cudaEventRecord(sides_->end[k], sides_->stream[k]);
        cudaStreamWaitEvent(stream_, sides_->end[k], 0);
      }
  }
  side_streams(side_streams const&) = delete;
  side_streams& operator=(side_streams const&) = delete;

  /// One of the `urgent` streams: its blocks are scheduled before those of the others.
  void* ahead(int k) { return side(most + k); }
  /// One of the `most` ordinary side streams.
  void* side(int k) {
    if (!sides_)
      return stream_;
    if (!used_[k])
      TULLE_CUDA(cudaStreamWaitEvent, sides_->stream[k], sides_->begin, 0);
    used_[k] = true;
    return sides_->stream[k];
  }

private:
  static constexpr int all = most + urgent;
  struct sides {
    int device = 0;
    cudaStream_t stream[all] = {};
    cudaEvent_t begin = nullptr, end[all] = {};
    ~sides() { // only those that were made: an error would be found by the next launch
      for (int k = 0; k < all; ++k) {
        if (stream[k])
          cudaStreamDestroy(stream[k]);
        if (end[k])
          cudaEventDestroy(end[k]);
      }
      if (begin)
        cudaEventDestroy(begin);
    }
  };
  /// The thread's streams on the current device.
  static sides& here() {
    static thread_local std::vector<std::unique_ptr<sides>> known;
    int device = 0;
    TULLE_CUDA(cudaGetDevice, &device);
    for (auto const& s : known)
      if (s->device == device)
        return *s;
    auto made = std::make_unique<sides>();
    made->device = device;
    TULLE_CUDA(cudaEventCreateWithFlags, &made->begin, cudaEventDisableTiming);
    int least = 0, greatest = 0;
    TULLE_CUDA(cudaDeviceGetStreamPriorityRange, &least, &greatest);
    for (int k = 0; k < all; ++k) {
      TULLE_CUDA(cudaStreamCreateWithPriority, &made->stream[k], cudaStreamNonBlocking,
                 k < most ? least : greatest);
      TULLE_CUDA(cudaEventCreateWithFlags, &made->end[k], cudaEventDisableTiming);
    }
    return *known.emplace_back(std::move(made));
  }

  cudaStream_t stream_;
  sides* sides_;
  bool used_[all] = {};
};

} // namespace tulle::kernels::cuda
