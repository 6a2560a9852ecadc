// SPDX-License-Identifier: Apache-2.0

/// A stream of a test's own, as a policy.
#pragma once
#include "tulle/core/where.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace tulle::test {

struct stream {
  cudaStream_t handle = nullptr;
  stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), cudaSuccess); }
  ~stream() { cudaStreamDestroy(handle); }
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;
  operator cuda() const { return {.stream = handle}; }
};

} // namespace tulle::test
