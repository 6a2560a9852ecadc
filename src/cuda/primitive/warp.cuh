// SPDX-License-Identifier: Apache-2.0

// What the lanes of a warp do together. All lanes of `mask`-free functions take part.
#pragma once

namespace tulle::simt {

inline constexpr unsigned whole_warp = 0xffffffffu;

/// In each lane the sum over its group of `width` lanes, a power of two up to 32; the same tree
/// whatever the values, so the same bits.
template <int width, class V>
__device__ V reduce(V v) {
#pragma unroll
  for (int d = width / 2; d > 0; d /= 2)
    v += __shfl_xor_sync(whole_warp, v, d, width);
  return v;
}

} // namespace tulle::simt
