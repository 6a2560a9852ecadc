// SPDX-License-Identifier: Apache-2.0

// Cooperative launches: all blocks are resident at once, so they can wait for each other.
#pragma once
#include "cuda/instantiate.cuh"

#include <cooperative_groups.h>

namespace tulle::kernels::cuda {

/// Like launch(), but all blocks are resident at once and may wait for each other.
template <class... P, class... A>
void launch_cooperative(void (*kernel)(P...), std::size_t blocks, int threads, void* stream,
                        A const&... a) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t how{};
  how.gridDim = dim3(static_cast<unsigned>(blocks));
  how.blockDim = dim3(static_cast<unsigned>(threads));
  how.stream = static_cast<cudaStream_t>(stream);
  how.attrs = &cooperative;
  how.numAttrs = 1;
  TULLE_CUDA(cudaLaunchKernelEx, &how, kernel, P(a)...);
}
/// The most blocks that a cooperative launch of the kernel may have.
template <class... P>
std::size_t most_cooperative(void (*kernel)(P...), int threads) {
  int device = 0, each = 0, of = 0;
  TULLE_CUDA(cudaGetDevice, &device);
  TULLE_CUDA(cudaDeviceGetAttribute, &of, cudaDevAttrMultiProcessorCount, device);
  TULLE_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &each, kernel, threads, 0);
  return static_cast<std::size_t>(each) * static_cast<std::size_t>(of);
}

} // namespace tulle::kernels::cuda
