// SPDX-License-Identifier: Apache-2.0

// Pieces that blocks leave in global memory; the last block to arrive joins them.
//
// __threadfence() would do, but it also empties the first-level cache of the multiprocessor, which
// then reads x again. csr5 with two fences per block and without, H200, double: rmat 304 and 277
// us, fem 121 and 109, circuit 72 and 68.
#pragma once

namespace tulle::kernels::cuda {

/// Counts one arrival and returns how many there were before. What the thread stored, or saw stored
/// by a barrier, is visible to those who find that all have arrived and read it by
/// left_by_others().
__device__ inline unsigned arrive(unsigned* count) {
  unsigned before;
  asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(count)
               : "memory");
  return before;
}

/// *p, bypassing the first-level cache. Call it after the branch on arrive()'s result.
__device__ inline double left_by_others(double const* p) {
  double v;
  asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline float left_by_others(float const* p) {
  float v;
  asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory");
  return v;
}

} // namespace tulle::kernels::cuda
