// SPDX-License-Identifier: Apache-2.0

// Rows that several blocks share: each leaves its part in the plan's workspace, and the block that
// ends last adds them, in an order that the matrix alone decides.
//
// us of a product, double, H200, with a second launch that adds them, and with this: acsr on
// circuit 2000000 91, 88; csr_adaptive 72, 69.
#pragma once
#include "cuda/instantiate.cuh"
#include "cuda/primitive/arrive.cuh"
#include "cuda/primitive/block.cuh"
#include "cuda/workspace.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V>
struct row_parts {
  V* sum;
  unsigned* come; // arrivals of each row, at the place of its first part

  row_parts(std::size_t parts, carver& work)
      : sum(work.take<V>(parts)), come(work.take<unsigned>(parts)) {}
  void clear(std::size_t parts, void* stream) const {
    if (parts != 0)
      TULLE_CUDA(cudaMemsetAsync, come, 0, parts * sizeof(unsigned),
                 static_cast<cudaStream_t>(stream));
  }

  /// The block's sum, in thread 0, is part `number` of a row whose parts begin at `first`.
  template <int threads>
  __device__ void leave(V part, std::size_t first, std::size_t number, std::size_t parts,
                        block_room<V>& room, V alpha, V beta, V* y) const {
    __shared__ bool is_last;
    if (threadIdx.x == 0) {
      sum[first + number] = part;
      is_last = arrive(come + first) == static_cast<unsigned>(parts - 1);
    }
    __syncthreads();
    if (!is_last)
      return;
    V all = 0;
    for (std::size_t k = threadIdx.x; k < parts; k += threads)
      all += left_by_others(sum + first + k);
    all = block_reduce<threads>(all, room);
    if (threadIdx.x != 0)
      return;
    update(y, alpha, all, beta);
    come[first] = 0; // for the next product
  }
};

} // namespace
} // namespace tulle::kernels::cuda
