// SPDX-License-Identifier: Apache-2.0

// What the threads of a block do together; all of them take part, in whole warps.
#pragma once
#include "cuda/primitive/warp.cuh"

namespace tulle::kernels::cuda {

/// Shared memory of a block's scan or sum.
template <class V>
struct block_room {
  V value[32];
  int flag[32];
};

/// The sum over all threads, in thread 0: warps first, then the sums of warps.
template <int threads, class V>
__device__ V block_reduce(V v, block_room<V>& room) {
  static_assert(threads % 32 == 0 && threads <= 1024);
  v = reduce<32>(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0)
    room.value[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32)
    v = reduce<32>(threadIdx.x < threads / 32 ? room.value[threadIdx.x] : V(0));
  return v;
}

/// In each thread the sum over the threads before it.
template <int threads>
__device__ int block_exclusive_scan(int v, block_room<int>& room) {
  static_assert(threads % 32 == 0 && threads <= 1024);
  int const up_to = inclusive_scan(v);
  __syncthreads();
  if (threadIdx.x % 32 == 31)
    room.value[threadIdx.x / 32] = up_to;
  __syncthreads();
  if (threadIdx.x < 32) {
    int const of_warp = threadIdx.x < threads / 32 ? room.value[threadIdx.x] : 0;
    room.flag[threadIdx.x] = inclusive_scan(of_warp) - of_warp;
  }
  __syncthreads();
  return room.flag[threadIdx.x / 32] + up_to - v;
}

/// In each thread the sum over the threads before it, from the last one on that has `starts` set.
template <int threads, class V>
__device__ V block_segmented_scan(V v, bool starts, block_room<V>& room) {
  static_assert(threads % 32 == 0 && threads <= 1024);
  int const lane = threadIdx.x % 32;
  int const warp = threadIdx.x / 32;
  V const up_to = segmented_scan(v, starts);
  unsigned const began = __ballot_sync(whole_warp, starts);
  __syncthreads();
  if (lane == 31) {
    room.value[warp] = up_to;
    room.flag[warp] = began != 0;
  }
  __syncthreads();
  if (warp == 0) {
    bool const in = lane < threads / 32;
    V const scanned = segmented_scan(in ? room.value[lane] : V(0), in && room.flag[lane] != 0);
    __syncwarp();
    room.value[lane] = scanned;
  }
  __syncthreads();
  V const before = shuffle_up(up_to, 1);
  // None of this warp's threads before this one starts anew, so the sum of the warps before is
  // added.
  bool const open = (began & ((1u << lane) - 1)) == 0;
  V const from_warps = warp == 0 ? V(0) : room.value[warp - 1];
  return (lane == 0 ? V(0) : before) + (open ? from_warps : V(0));
}

} // namespace tulle::kernels::cuda
