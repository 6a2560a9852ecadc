// SPDX-License-Identifier: Apache-2.0

// Failures within the module: thrown by check(), caught at the entries of the table.
#pragma once
#include "backend/backend.hpp"

#include <cstdio>
#include <cuda_runtime.h>
#include <new>

namespace tulle::kernels::cuda {

struct failure {
  outcome came_to;
};

/// What failed and why, in the words "what: why".
inline outcome worded(outcome::kind code, char const* what, char const* why) {
  static thread_local char text[512]; // lives longer than any use of the outcome that points at it
  std::snprintf(text, sizeof text, "%s: %s", what, why);
  return {code, errc::backend, text};
}

inline void check(cudaError_t error, char const* call) {
  if (error == cudaSuccess)
    return;
  cudaGetLastError(); // clears the error, which the next call would find again
  throw failure{worded(error == cudaErrorMemoryAllocation ? outcome::no_memory : outcome::failed,
                       call, cudaGetErrorString(error))};
}
/// TULLE_CUDA(cudaMemsetAsync, arguments...): makes the call; a failure names it.
#define TULLE_CUDA(function, ...) ::tulle::kernels::cuda::check(function(__VA_ARGS__), #function)

/// For what a format's kernel does not do: refuse("csr5", "transposed products have no kernel").
[[noreturn]] inline void refuse(char const* format, char const* why) {
  throw failure{worded(outcome::unsupported, format, why)};
}

/// Calls f(); what it throws becomes an outcome.
template <class F>
outcome guarded(F&& f) noexcept {
  try {
    f();
    return {};
  } catch (failure const& e) {
    return e.came_to;
  } catch (std::bad_alloc const&) {
    return {outcome::no_memory, errc::backend, "no memory on the host"};
  } catch (...) {
    return {outcome::failed, errc::backend, "an exception of unknown kind"};
  }
}

/// Sets the thread's device during its lifetime.
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
