// SPDX-License-Identifier: Apache-2.0

// Products in the order of their keys.
#pragma once
#include "cuda/check.cuh"
#include "cuda/workspace.cuh"

#include <cstdint>
#include <cub/device/device_radix_sort.cuh>

namespace tulle::simt {

/// By the lowest bits of their keys; equal ones keep their order.
template <class Key, class V>
void sort_pairs(Key const* key, Key* sorted, V const* val, V* sorted_val, std::size_t n, int bits,
                void* stream) {
  auto const s = static_cast<cudaStream_t>(stream);
  auto const all = static_cast<std::int64_t>(n);
  std::size_t bytes = 0;
  TULLE_CUDA(cub::DeviceRadixSort::SortPairs, nullptr, bytes, key, sorted, val, sorted_val, all, 0,
             bits, s);
  scratch<char> const room(bytes, s);
  TULLE_CUDA(cub::DeviceRadixSort::SortPairs, room.get(), bytes, key, sorted, val, sorted_val, all,
             0, bits, s);
}

} // namespace tulle::simt
