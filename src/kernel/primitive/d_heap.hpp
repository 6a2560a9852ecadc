// SPDX-License-Identifier: Apache-2.0

// The greatest child of a d-heap's node by vectors: Find of primitive/d_heap.hpp. A heap with
// this type as its argument has internal linkage like the type.
#pragma once
#include "kernel/primitive/scan.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// The first greatest of keys[0..n), none of them NaN. By vectors where d is a power of two and n
/// == d, as it is for all nodes but one.
template <int d>
struct find_max_child {
  template <class K>
  HWY_INLINE std::size_t operator()(K const* keys, std::size_t n) const {
    constexpr int lanes = d < lanes_of<K> ? d : lanes_of<K>;
    if constexpr ((d & (d - 1)) == 0 && lanes * sizeof(K) >= 16) {
      if (n == d)
        return whole<lanes>(keys);
    }
    std::size_t best = 0;
    for (std::size_t i = 1; i < n; ++i)
      best = keys[best] < keys[i] ? i : best;
    return best;
  }

private:
  template <int lanes, class K>
  static HWY_INLINE std::size_t whole(K const* keys) {
    hn::FixedTag<K, lanes> const tag;
    auto most = hn::LoadU(tag, keys);
#pragma GCC unroll 16
    for (int i = lanes; i < d; i += lanes)
      most = hn::Max(most, hn::LoadU(tag, keys + i));
    most = hn::Set(tag, reduce_lanes(tag, most, greatest{}));
    std::uint64_t found = 0; // d <= 64
#pragma GCC unroll 16
    for (int i = 0; i < d; i += lanes) {
      std::uint64_t bits = 0;
      hn::StoreMaskBits(tag, hn::Eq(most, hn::LoadU(tag, keys + i)),
                        reinterpret_cast<std::uint8_t*>(&bits));
      found |= bits << i;
    }
    return found ? static_cast<std::size_t>(__builtin_ctzll(found)) : 0;
  }
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA
