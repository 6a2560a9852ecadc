// SPDX-License-Identifier: Apache-2.0

// Failures within the module: thrown by check(), caught where the table begins.
#pragma once
#include "backend/backend.hpp"

#include <cstdio>
#include <cuda_runtime.h>

namespace tulle::kernels::cuda {

struct failure {
  outcome came_to;
};

/// What failed and why, in the words "what: why".
inline outcome worded(outcome::kind code, char const* what, char const* why) {
  static thread_local char text[512]; // as long as the outcome that points at it is looked at
  std::snprintf(text, sizeof text, "%s: %s", what, why);
  return {code, errc::backend, text};
}

inline void check(cudaError_t error, char const* call) {
  if (error == cudaSuccess)
    return;
  cudaGetLastError(); // else the next call that looks there finds it again
  throw failure{worded(error == cudaErrorMemoryAllocation ? outcome::no_memory : outcome::failed,
                       call, cudaGetErrorString(error))};
}
/// TULLE_CUDA(cudaMemsetAsync, arguments...): the call, and a failure that names it.
#define TULLE_CUDA(function, ...) ::tulle::kernels::cuda::check(function(__VA_ARGS__), #function)

/// For what a format's kernel does not do: refuse("csr5", "transposed products have no kernel").
[[noreturn]] inline void refuse(char const* format, char const* why) {
  throw failure{worded(outcome::unsupported, format, why)};
}

/// f(), with what it throws as an outcome.
template <class F>
outcome guarded(F&& f) noexcept {
  try {
    f();
    return {};
  } catch (failure const& e) {
    return e.came_to;
  } catch (...) {
    return {outcome::failed, errc::backend, "an exception of unknown kind"};
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

} // namespace tulle::kernels::cuda
