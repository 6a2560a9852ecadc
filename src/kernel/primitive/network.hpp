// SPDX-License-Identifier: Apache-2.0

// Bitonic networks over vectors of int32 or int64: what sorts and merges short lists.
#pragma once
#include "kernel/primitive/scan.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// Lane i gets lane i ^ k; bytes is k lanes.
template <int bytes, class D>
HWY_INLINE hn::Vec<D> swap_lanes(D d, hn::Vec<D> v) {
  (void)d;
  if constexpr (bytes == 4)
    return hn::Shuffle2301(v);
  else if constexpr (bytes == 8 && sizeof(hn::TFromD<D>) == 4)
    return hn::Shuffle1032(v);
  else if constexpr (bytes == 8)
    return hn::Shuffle01(v);
  else if constexpr (bytes == 16)
    return hn::SwapAdjacentBlocks(v);
  else
    return hn::ConcatLowerUpper(d, v, v);
}

/// The lanes i with i & k from hi, the others from lo; bytes is k lanes.
template <int bytes, class D>
HWY_INLINE hn::Vec<D> join_lanes(D d, hn::Vec<D> hi, hn::Vec<D> lo) {
  if constexpr (bytes == sizeof(hn::TFromD<D>)) {
    return hn::OddEven(hi, lo);
  } else if constexpr (bytes == 8) {
    hn::RepartitionToWide<D> const wide;
    return hn::BitCast(d, hn::OddEven(hn::BitCast(wide, hi), hn::BitCast(wide, lo)));
  } else if constexpr (bytes == 16) {
    return hn::OddEvenBlocks(hi, lo);
  } else {
    return hn::ConcatUpperLower(d, hi, lo);
  }
}

/// Sorts bitonic groups of 2 * half lanes.
template <int half, class D>
HWY_INLINE hn::Vec<D> clean_lanes(D d, hn::Vec<D> v) {
  if constexpr (half == 0) {
    return v;
  } else {
    constexpr int bytes = half * static_cast<int>(sizeof(hn::TFromD<D>));
    auto const other = swap_lanes<bytes>(d, v);
    return clean_lanes<half / 2>(d, join_lanes<bytes>(d, hn::Max(v, other), hn::Min(v, other)));
  }
}

/// Sorts groups of `group` lanes.
template <int group, class D>
HWY_INLINE hn::Vec<D> sort_lanes(D d, hn::Vec<D> v) {
  if constexpr (group == 1) {
    return v;
  } else {
    using K = hn::TFromD<D>;
    v = sort_lanes<group / 2>(d, v);
    hn::Vec<D> mirror;
    if constexpr (group == lanes_of<K>)
      mirror = hn::Reverse(d, v);
    else if constexpr (group == 8)
      mirror = hn::Reverse8(d, v);
    else if constexpr (group == 4)
      mirror = hn::Reverse4(d, v);
    else
      mirror = hn::Reverse2(d, v);
    constexpr int bytes = group / 2 * static_cast<int>(sizeof(K));
    return clean_lanes<group / 4>(d, join_lanes<bytes>(d, hn::Max(v, mirror), hn::Min(v, mirror)));
  }
}

/// Sorts a bitonic sequence of `count` vectors in registers.
template <int count, class D>
HWY_INLINE void clean_registers(D d, hn::Vec<D>* v) {
#pragma GCC unroll 8
  for (int half = count / 2; half > 0; half /= 2)
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i)
      if (!(i & half)) {
        auto const lo = hn::Min(v[i], v[i + half]);
        v[i + half] = hn::Max(v[i], v[i + half]);
        v[i] = lo;
      }
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i)
    v[i] = clean_lanes<lanes_of<hn::TFromD<D>> / 2>(d, v[i]);
}

// Vectors that are taken into registers at once: half of what the narrower sets have.
constexpr int registers = 8;

/// Sorts `count` vectors in registers.
template <int count, class D>
HWY_INLINE void sort_registers(D d, hn::Vec<D>* v) {
  if constexpr (count == 1) {
    v[0] = sort_lanes<lanes_of<hn::TFromD<D>>>(d, v[0]);
  } else {
    constexpr int half = count / 2;
    sort_registers<half>(d, v);
    sort_registers<half>(d, v + half);
    hn::Vec<D> greater[half];
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) { // with the mirror image
      auto const b = hn::Reverse(d, v[count - 1 - i]);
      greater[i] = hn::Max(v[i], b);
      v[i] = hn::Min(v[i], b);
    }
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i)
      v[half + i] = greater[i];
    clean_registers<half>(d, v);
    clean_registers<half>(d, v + half);
  }
}

/// Sorts a bitonic sequence of `count` vectors in memory.
template <int count, class K>
void clean(K* p) {
  hn::ScalableTag<K> const d;
  constexpr int lanes = lanes_of<K>;
  if constexpr (count <= registers) {
    hn::Vec<decltype(d)> v[count];
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i)
      v[i] = hn::Load(d, p + i * lanes);
    clean_registers<count>(d, v);
#pragma GCC unroll 8
    for (int i = 0; i < count; ++i)
      hn::Store(v[i], d, p + i * lanes);
  } else {
    constexpr int half = count / 2 * lanes;
    for (int i = 0; i < half; i += lanes) {
      auto const a = hn::Load(d, p + i);
      auto const b = hn::Load(d, p + i + half);
      hn::Store(hn::Min(a, b), d, p + i);
      hn::Store(hn::Max(a, b), d, p + i + half);
    }
    clean<count / 2>(p);
    clean<count / 2>(p + half);
  }
}

/// Sorts `count` vectors in memory.
template <int count, class K>
void sort_vectors(K* p) {
  hn::ScalableTag<K> const d;
  constexpr int lanes = lanes_of<K>;
  if constexpr (count == 1) {
    hn::Store(sort_lanes<lanes>(d, hn::Load(d, p)), d, p);
  } else {
    constexpr int half = count / 2 * lanes;
    sort_vectors<count / 2>(p);
    sort_vectors<count / 2>(p + half);
    for (int i = 0; i < half; i += lanes) { // with the mirror image
      K* const q = p + 2 * half - lanes - i;
      auto const a = hn::Load(d, p + i);
      auto const b = hn::Reverse(d, hn::Load(d, q));
      hn::Store(hn::Min(a, b), d, p + i);
      hn::Store(hn::Reverse(d, hn::Max(a, b)), d, q);
    }
    clean<count / 2>(p);
    clean<count / 2>(p + half);
  }
}

template <class K>
constexpr K greatest_key = static_cast<K>(~(std::uint64_t(1) << (8 * sizeof(K) - 1)));

// A key and its position in one int64: sorted by that, equal keys keep their order, and values are
// fetched by the position afterwards. Of 64-bit keys that leaves 53 and a sign, more than any index
// has.
constexpr int position_bits = 9;
template <class K>
constexpr int key_shift = sizeof(K) == 4 ? 32 : position_bits;
template <class K>
HWY_INLINE bool can_pack(K least, K greatest) {
  constexpr std::int64_t limit = std::int64_t(1) << (62 - position_bits);
  return sizeof(K) == 4 || (least >= -limit && greatest < limit);
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
