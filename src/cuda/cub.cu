// SPDX-License-Identifier: Apache-2.0
#include "cuda/cub.cuh"
#include "cuda/workspace.cuh"

#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <type_traits>

namespace tulle::simt {

template <class T>
void to_pointers(T* counts, std::size_t n, void* stream) {
  auto const s = static_cast<cudaStream_t>(stream);
  auto const all = static_cast<std::int64_t>(n) + 1;
  TULLE_CUDA(cudaMemsetAsync, counts + n, 0, sizeof(T), s);
  std::size_t bytes = 0;
  TULLE_CUDA(cub::DeviceScan::ExclusiveSum, nullptr, bytes, counts, counts, all, s);
  scratch<char> const room(bytes, s);
  TULLE_CUDA(cub::DeviceScan::ExclusiveSum, room.get(), bytes, counts, counts, all, s);
}

template <class I>
void sort_keys(I const* keys, I* sorted, std::size_t n, I most, void* stream) {
  using bits = std::make_unsigned_t<I>;
  auto const s = static_cast<cudaStream_t>(stream);
  auto const all = static_cast<std::int64_t>(n);
  auto const* const from = reinterpret_cast<bits const*>(keys);
  auto* const to = reinterpret_cast<bits*>(sorted);
  int const last_bit = std::bit_width(static_cast<bits>(most));
  std::size_t bytes = 0;
  TULLE_CUDA(cub::DeviceRadixSort::SortKeys, nullptr, bytes, from, to, all, 0, last_bit, s);
  scratch<char> const room(bytes, s);
  TULLE_CUDA(cub::DeviceRadixSort::SortKeys, room.get(), bytes, from, to, all, 0, last_bit, s);
}

template void to_pointers(std::int32_t*, std::size_t, void*);
template void to_pointers(std::int64_t*, std::size_t, void*);
template void to_pointers(unsigned long long*, std::size_t, void*);
template void sort_keys(std::int32_t const*, std::int32_t*, std::size_t, std::int32_t, void*);
template void sort_keys(std::int64_t const*, std::int64_t*, std::size_t, std::int64_t, void*);

} // namespace tulle::simt
