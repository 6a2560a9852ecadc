// SPDX-License-Identifier: Apache-2.0

// Launches whose blocks are all on the device at a time, so that they can wait for each other.
#pragma once
#include "cuda/instantiate.cuh"

#include <cooperative_groups.h>

namespace tulle::simt {

/// Like launch(), of blocks that are on the device at a time and wait for each other.
template <class... P, class... A>
void launch_together(void (*kernel)(P...), std::size_t blocks, int threads, void* stream,
                     A const&... a) {
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = dim3(static_cast<unsigned>(blocks));
  how.blockDim = dim3(static_cast<unsigned>(threads));
  how.stream = static_cast<cudaStream_t>(stream);
  how.attrs = &together;
  how.numAttrs = 1;
  TULLE_CUDA(cudaLaunchKernelEx, &how, kernel, P(a)...);
}
/// How many those may be.
template <class... P>
std::size_t most_together(void (*kernel)(P...), int threads) {
  int device = 0, each = 0, of = 0;
  TULLE_CUDA(cudaGetDevice, &device);
  TULLE_CUDA(cudaDeviceGetAttribute, &of, cudaDevAttrMultiProcessorCount, device);
  TULLE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &each, kernel, threads, 0);
  return static_cast<std::size_t>(each) * static_cast<std::size_t>(of);
}

} // namespace tulle::simt
