// SPDX-License-Identifier: Apache-2.0

// A warp transposes 32 rows of csr through shared memory: it reads along rows and writes across
// them.
#pragma once
#include "cuda/instantiate.cuh"
#include "cuda/primitive/warp.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr int transpose_warps = 4; // of a block

// Rows up to this width are read by one thread each, from the caches; wider ones through shared
// memory. ms of a conversion by threads and through shared memory: fem 500000, 63 wide, to ell
// 1.56, 0.58; lattice 4000000, 4 wide, to sell 0.78, 1.28.
constexpr std::size_t narrow_width = 16;

/// Shared memory of a warp: 32 entries of 32 rows, each row shifted by one bank.
template <class V, class I>
struct transpose_room {
  static constexpr int pitch = 33;
  union {
    V val[32 * pitch];
    I col[32 * pitch];
  };
};

/// Calls put(s, from[first + s]) for s < n of each lane's row, then put(s, pad) up to width. All
/// lanes take part.
template <class T, class O, class Put>
__device__ void put_transposed(T const* from, O first, O n, std::size_t width, T pad, T* room,
                               int lane, Put put) {
  constexpr int pitch = 33;
  auto const length = static_cast<std::size_t>(n);
  for (std::size_t s = 0; s < width; s += 32) {
    std::size_t const mine = s + static_cast<std::size_t>(lane);
#pragma unroll 8
    for (int r = 0; r < 32; ++r) {
      O const at = __shfl_sync(whole_warp, first, r);
      O const end = __shfl_sync(whole_warp, n, r);
      if (mine < static_cast<std::size_t>(end))
        room[r * pitch + lane] = from[static_cast<std::size_t>(at) + mine];
    }
    __syncwarp();
    std::size_t const stop = width - s < 32 ? width - s : 32;
    for (std::size_t k = 0; k < stop; ++k)
      put(s + k, s + k < length ? room[lane * pitch + static_cast<int>(k)] : pad);
    __syncwarp();
  }
}

} // namespace
} // namespace tulle::kernels::cuda
