// SPDX-License-Identifier: Apache-2.0
#include "cuda/cub.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

namespace tulle::kernels::cuda {
namespace {

cudaStream_t as_stream(void* stream) {
  return static_cast<cudaStream_t>(stream);
}
/// The type in which CUB counts by default.
std::int64_t count(std::size_t n) {
  return static_cast<std::int64_t>(n);
}

struct greater_of {
  template <class I>
  __device__ I operator()(I a, I b) const {
    return a > b ? a : b;
  }
};

} // namespace

template <class I>
void sum_up(I const* counts, I* to, std::size_t n, void* room, std::size_t& bytes, void* stream) {
  TULLE_CUDA(cub::DeviceScan::ExclusiveSum, room, bytes, counts, to, count(n), as_stream(stream));
}

template <class I>
void greatest_so_far(I* to, std::size_t n, void* room, std::size_t& bytes, void* stream) {
  TULLE_CUDA(cub::DeviceScan::InclusiveScan, room, bytes, to, to, greater_of(), count(n),
             as_stream(stream));
}

template <class Key>
void sort_words(Key const* key, Key* sorted, std::size_t n, int bits, void* room,
                std::size_t& bytes, void* stream) {
  TULLE_CUDA(cub::DeviceRadixSort::SortKeys, room, bytes, key, sorted, count(n), 0, bits,
             as_stream(stream));
}

template <class Key, class Word>
void sort_words(Key const* key, Key* sorted, Word const* val, Word* sorted_val, std::size_t n,
                int bits, void* room, std::size_t& bytes, void* stream) {
  // 32-bit keys with 32-bit places are fewer than 2^31, and CUB sorts them in larger tiles if it
  // knows that.
  using counted =
      std::conditional_t<sizeof(Key) == 4 && sizeof(Word) == 4, std::int32_t, std::int64_t>;
  TULLE_CUDA(cub::DeviceRadixSort::SortPairs, room, bytes, key, sorted, val, sorted_val,
             static_cast<counted>(n), 0, bits, as_stream(stream));
}

#define TULLE_SCAN(I)                                                                              \
  template void sum_up(I const*, I*, std::size_t, void*, std::size_t&, void*);                     \
  template void greatest_so_far(I*, std::size_t, void*, std::size_t&, void*);
TULLE_SCAN(std::int32_t)
TULLE_SCAN(std::int64_t)
#define TULLE_SORT(Key)                                                                            \
  template void sort_words(Key const*, Key*, std::size_t, int, void*, std::size_t&, void*);
TULLE_SORT(unsigned)
TULLE_SORT(unsigned long long)
#define TULLE_SORT_PAIRS(Key, Word)                                                                \
  template void sort_words(Key const*, Key*, Word const*, Word*, std::size_t, int, void*,          \
                           std::size_t&, void*);
TULLE_SORT_PAIRS(unsigned, unsigned)
TULLE_SORT_PAIRS(unsigned, unsigned long long)
TULLE_SORT_PAIRS(unsigned long long, unsigned)
TULLE_SORT_PAIRS(unsigned long long, unsigned long long)
TULLE_SORT_PAIRS(unsigned long long, ulonglong2)

} // namespace tulle::kernels::cuda
