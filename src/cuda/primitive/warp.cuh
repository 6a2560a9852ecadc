// SPDX-License-Identifier: Apache-2.0

// What the lanes of a warp do together; all of them take part.
#pragma once
#include "cuda/value.cuh"

#include <cstdint>
#include <type_traits>

namespace tulle::kernels::cuda {

inline constexpr unsigned whole_warp = 0xffffffffu;

/// A value of another lane: of lane `from`, of the one `apart` lanes before, of the one whose
/// number differs by the bits of `mask`.
template <class V>
__device__ V shuffle(V v, int from) {
  return by_parts(v, [=](auto part) { return __shfl_sync(whole_warp, part, from); });
}
template <class V>
__device__ V shuffle_up(V v, int apart) {
  return by_parts(v, [=](auto part) { return __shfl_up_sync(whole_warp, part, apart); });
}
template <class V>
__device__ V shuffle_xor(V v, int mask) {
  return by_parts(v, [=](auto part) { return __shfl_xor_sync(whole_warp, part, mask); });
}

/// Lanes for rows of that many entries on average.
inline std::int64_t width_for(std::int64_t average) {
  std::int64_t width = 1;
  while (width < 32 && width * 2 <= average)
    width *= 2;
  return width;
}
/// Calls f(width) with a constant: 1, 2, 4, 8, 16 or 32.
template <class F>
void with_width(std::int64_t width, F&& f) {
  switch (width) {
  case 1:
    return f(std::integral_constant<int, 1>());
  case 2:
    return f(std::integral_constant<int, 2>());
  case 4:
    return f(std::integral_constant<int, 4>());
  case 8:
    return f(std::integral_constant<int, 8>());
  case 16:
    return f(std::integral_constant<int, 16>());
  default:
    return f(std::integral_constant<int, 32>());
  }
}

/// In each lane the sum over its group of `width` lanes, a power of two up to 32. The tree is
/// fixed, so all lanes have the same bits.
template <int width, class V>
__device__ V reduce(V v) {
#pragma unroll
  for (int d = width / 2; d > 0; d /= 2)
    v += shuffle_xor(v, d);
  return v;
}
/// The same for a width known at run time.
template <class V>
__device__ V reduce(V v, int width) {
  for (int d = width / 2; d > 0; d /= 2)
    v += shuffle_xor(v, d);
  return v;
}

/// In each lane the sum of all lanes up to it.
template <class V>
__device__ V inclusive_scan(V v) {
  int const lane = threadIdx.x % 32;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    V const below = shuffle_up(v, d);
    v = lane >= d ? v + below : v;
  }
  return v;
}

/// In each lane the sum over the lanes up to it, from the last one on that has `starts` set.
template <class V>
__device__ V segmented_scan(V v, bool starts) {
  int const lane = threadIdx.x % 32;
  bool stop = starts;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    V const below = shuffle_up(v, d);
    bool const stopped = __shfl_up_sync(whole_warp, stop, d);
    if (lane >= d && !stop) {
      v += below;
      stop = stopped;
    }
  }
  return v;
}

} // namespace tulle::kernels::cuda
