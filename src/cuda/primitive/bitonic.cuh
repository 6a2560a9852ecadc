// SPDX-License-Identifier: Apache-2.0

// Batcher's bitonic sort by the threads of a block.
#pragma once

namespace tulle::kernels::cuda {

/// Sorts key[0..n) in shared memory; n is a power of two. All threads of the block take part;
/// earlier writes of all threads are visible to it, and its writes to all threads after it. log n
/// (log n + 1) / 2 steps; not stable.
template <int threads, class K>
__device__ void bitonic_sort(K* key, int n) {
  __syncthreads();
  for (int size = 2; size <= n; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      for (int t = threadIdx.x; t < n / 2; t += threads) {
        int const low = 2 * t - (t & (stride - 1)), high = low + stride;
        K const a = key[low], b = key[high];
        bool const ascends = (low & size) == 0;
        if (ascends ? b < a : a < b) {
          key[low] = b;
          key[high] = a;
        }
      }
      __syncthreads();
    }
}

/// The least power of two that is not below n.
__device__ inline int power_of_two(int n) {
  return n <= 1 ? 1 : 1 << (32 - __clz(n - 1));
}

} // namespace tulle::kernels::cuda
