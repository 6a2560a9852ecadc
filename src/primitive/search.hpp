// SPDX-License-Identifier: Apache-2.0

/// Binary search of one key and of many.
#pragma once
#include "tulle/version.hpp"

#include <cstddef>

namespace tulle::primitive {

/// How many of sorted[0..n) are less than key. No branch depends on the data.
template <class K>
constexpr std::size_t lower_bound(K const* sorted, std::size_t n, K key) {
  std::size_t first = 0;
  while (n > 0) {
    std::size_t const half = (n + 1) / 2;
    first += sorted[first + half - 1] < key ? half : 0;
    n -= half;
  }
  return first;
}

/// How many of sorted[0..n) are not greater than key.
template <class K>
constexpr std::size_t upper_bound(K const* sorted, std::size_t n, K key) {
  std::size_t first = 0;
  while (n > 0) {
    std::size_t const half = (n + 1) / 2;
    first += key < sorted[first + half - 1] ? 0 : half;
    n -= half;
  }
  return first;
}

/// out[i] = lower_bound of keys[i], for many keys in any order.
template <class K, class I>
constexpr void lower_bound(K const* sorted, std::size_t n, K const* keys, std::size_t m, I* out) {
  for (std::size_t i = 0; i < m; ++i)
    out[i] = static_cast<I>(lower_bound(sorted, n, keys[i]));
}

} // namespace tulle::primitive
