// SPDX-License-Identifier: Apache-2.0

// Pieces that blocks leave in global memory, to be joined by whichever comes last.
//
// __threadfence() would do, but it also empties the first-level cache of the multiprocessor, which
// then reads x again. csr5 with two of them for each block and without, H200, double: rmat 304 and
// 277 us, fem 121 and 109, circuit 72 and 68.
#pragma once

namespace tulle::kernels::cuda {

/// One more has come; how many had before. What the thread stored, or saw stored by a barrier, is
/// there for those who find that all have come and read it by left_by_others().
__device__ inline unsigned arrive(unsigned* count) {
  unsigned before;
  asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(count)
               : "memory");
  return before;
}

/// *p, not from the first-level cache. The branch that asks what arrive() returned goes before.
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
