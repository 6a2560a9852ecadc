// SPDX-License-Identifier: Apache-2.0

// Bitonic sort of up to 512 keys, int32 or int64, with or without values
// (primitive/network_sort.hpp).
#pragma once
#include "kernel/primitive/network.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int bitonic_limit = 512;
static_assert(bitonic_limit <= 1 << position_bits);

/// Sorts n of the `bitonic_limit` keys at p, filled up with greatest keys to whole vectors' powers
/// of two. p is aligned.
template <int count = 1, class K>
void sort_padded(K* p, std::int64_t n) {
  constexpr int lanes = lanes_of<K>;
  if constexpr (count * lanes < bitonic_limit) {
    if (n > count * lanes)
      return sort_padded<2 * count>(p, n);
  }
  hn::ScalableTag<K> const d;
  std::int64_t i = n;
  for (; i % lanes; ++i)
    p[i] = greatest_key<K>;
  for (; i < count * lanes; i += lanes)
    hn::Store(hn::Set(d, greatest_key<K>), d, p + i);
  sort_vectors<count>(p);
}

/// Sorts keys[0..n), n <= bitonic_limit.
template <class K>
void bitonic_sort(K* keys, std::int64_t n) {
  if (n < 2)
    return;
  HWY_ALIGN K room[bitonic_limit];
  std::memcpy(room, keys, static_cast<std::size_t>(n) * sizeof(K));
  sort_padded(room, n);
  std::memcpy(keys, room, static_cast<std::size_t>(n) * sizeof(K));
}

/// Sorts keys[0..n) and vals along with them, n <= bitonic_limit. Stable, which the plain form is
/// not.
template <class K, class V>
void bitonic_sort(K* keys, V* vals, std::int64_t n) {
  if (n < 2)
    return;
  K least = 0;
  K greatest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    least = keys[i] < least ? keys[i] : least;
    greatest = keys[i] > greatest ? keys[i] : greatest;
  }
  if (!can_pack(least, greatest)) { // no index is so large: insertion will do
    for (std::int64_t i = 1; i < n; ++i) {
      K const key = keys[i];
      V const val = vals[i];
      std::int64_t j = i;
      for (; j > 0 && key < keys[j - 1]; --j) {
        keys[j] = keys[j - 1];
        vals[j] = vals[j - 1];
      }
      keys[j] = key;
      vals[j] = val;
    }
    return;
  }
  constexpr int shift = key_shift<K>;
  HWY_ALIGN std::int64_t room[bitonic_limit];
  V before[bitonic_limit];
  for (std::int64_t i = 0; i < n; ++i)
    room[i] = static_cast<std::int64_t>(keys[i]) * (std::int64_t(1) << shift) + i;
  std::memcpy(before, vals, static_cast<std::size_t>(n) * sizeof(V));
  sort_padded(room, n);
  for (std::int64_t i = 0; i < n; ++i) {
    keys[i] = static_cast<K>(room[i] >> shift);
    vals[i] = before[room[i] & (bitonic_limit - 1)];
  }
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
