// SPDX-License-Identifier: Apache-2.0

// Failures within the module: thrown by check(), caught where the table begins.
#pragma once
#include "cuda/module.hpp"

#include <cuda_runtime.h>

namespace tulle::simt {

struct failure {
  cuda_status status;
};

inline void check(cudaError_t error, char const* call) {
  if (error == cudaSuccess)
    return;
  cudaGetLastError(); // else the next call that looks there finds it again
  throw failure{{error == cudaErrorMemoryAllocation ? cuda_status::no_memory : cuda_status::failed,
                 call, cudaGetErrorString(error)}};
}
/// TULLE_CUDA(cudaMemsetAsync, arguments...): the call, and a failure that names it.
#define TULLE_CUDA(function, ...) ::tulle::simt::check(function(__VA_ARGS__), #function)

/// For what a format's kernel does not do: refuse("csr5", "transposed products have no kernel").
[[noreturn]] inline void refuse(char const* format, char const* why) {
  throw failure{{cuda_status::unsupported, format, why}};
}

/// f(), with what it throws as a status.
template <class F>
cuda_status guarded(F&& f) noexcept {
  try {
    f();
    return {};
  } catch (failure const& e) {
    return e.status;
  } catch (...) {
    return {cuda_status::failed, "tulle", "an exception of unknown kind"};
  }
}

/// The thread's device for as long as it lives.
class device_guard {
public:
  explicit device_guard(int wanted) {
    if (wanted < 0)
      return;
    TULLE_CUDA(cudaGetDevice, &before_);
    if (wanted != before_)
      TULLE_CUDA(cudaSetDevice, wanted);
    else
      before_ = -1;
  }
  ~device_guard() {
    if (before_ >= 0)
      cudaSetDevice(before_);
  }
  device_guard(device_guard const&) = delete;
  device_guard& operator=(device_guard const&) = delete;

private:
  int before_ = -1;
};

} // namespace tulle::simt
