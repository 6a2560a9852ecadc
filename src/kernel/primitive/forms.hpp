// SPDX-License-Identifier: Apache-2.0

// The SIMD forms of the primitives as tables of functions, one for each instruction set: forms.cpp
// is compiled once per set, and takes plain pointers only. Tests and `tulle bench primitive` go
// through them. Of the forms themselves, kernels use scan.hpp and network_sort.hpp.
#pragma once
#include "tulle/core/machine.hpp"

#include <cstdint>

namespace tulle::kernels {

template <class V>
struct sum_forms {
  V (*sum)(V const* in, std::int64_t n, V init);
  V (*least)(V const* in, std::int64_t n, V init);
  V (*greatest)(V const* in, std::int64_t n, V init);
  V (*inclusive_scan)(V const* in, std::int64_t n, V* out, V init);
  V (*exclusive_scan)(V const* in, std::int64_t n, V* out, V init);
  void (*segmented_scan)(V const* in, std::uint8_t const* head, std::int64_t n, V* out);
  std::int64_t (*segmented_sum)(V const* in, std::uint8_t const* head, std::int64_t n, V* out,
                                std::int64_t room);
};

template <class K, class V>
struct pair_forms {
  void (*bitonic_sort)(K* keys, V* vals, std::int64_t n);
  void (*merge)(std::int64_t lists, std::int64_t const* a_ptr, K const* a, V const* av,
                std::int64_t const* b_ptr, K const* b, V const* bv, K* out, V* outv);
};

template <class K>
struct key_forms {
  void (*bitonic_sort)(K* keys, std::int64_t n);
  void (*merge)(std::int64_t lists, std::int64_t const* a_ptr, K const* a,
                std::int64_t const* b_ptr, K const* b, K* out);
  std::int64_t (*intersection)(K const* a, std::int64_t na, K const* b, std::int64_t nb,
                               std::int32_t* at_a, std::int32_t* at_b);
  pair_forms<K, float> of_float;
  pair_forms<K, double> of_double;
  pair_forms<K, std::int32_t> of_int32;
  pair_forms<K, std::int64_t> of_int64;
};

/// Sorts in[0..n) from greatest to least by a heap in the memory given: (n + 64) keys and names, n
/// places.
template <class K>
using heap_sort = void (*)(K const* in, std::int64_t n, K* out, K* keys, std::int32_t* names,
                           std::int32_t* places);
template <class K>
struct heap_forms {
  heap_sort<K> d2, d4, d5, d8, d16, d32, d64;
};

struct forms {
  sum_forms<std::int32_t> sum_int32;
  sum_forms<std::int64_t> sum_int64;
  sum_forms<std::uint32_t> sum_uint32;
  sum_forms<float> sum_float;
  sum_forms<double> sum_double;
  key_forms<std::int32_t> key_int32;
  key_forms<std::int64_t> key_int64;
  heap_forms<std::int32_t> heap_int32;
  heap_forms<std::int64_t> heap_int64;
  heap_forms<float> heap_float;
  heap_forms<double> heap_double;
};

namespace baseline {
extern forms const primitives;
}
namespace avx2 {
extern forms const primitives;
}
namespace avx512 {
extern forms const primitives;
}

inline forms const& forms_of([[maybe_unused]] isa i) {
#if defined(__x86_64__)
  if (i == isa::avx512)
    return avx512::primitives;
  if (i == isa::avx2)
    return avx2::primitives;
#endif
  return baseline::primitives;
}

} // namespace tulle::kernels
