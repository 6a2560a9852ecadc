// SPDX-License-Identifier: Apache-2.0

/// Sorting networks: the same comparisons whatever the keys are. In place, any length, not stable;
/// O(n log^2 n). With `vals`, values move along with their keys.
///
/// From   Liu, thesis 2015, sec. 4.5.2-4.5.3. Unlike there, every comparison puts the smaller key
///        first, so that lengths between powers of two need no padding: what would be compared with
///        the missing entries is already in its place. The odd-even form is Knuth, vol. 3, sec.
///        5.2.2, algorithm M.
#pragma once
#include "tulle/version.hpp"

#include <cstddef>

namespace tulle::primitive {
namespace detail {

struct no_value {};

template <class K, class V>
constexpr void compare_exchange(K* keys, V* vals, std::size_t i, std::size_t j) {
  if (keys[j] < keys[i]) {
    K const k = keys[i];
    keys[i] = keys[j];
    keys[j] = k;
    if (vals) {
      V const v = vals[i];
      vals[i] = vals[j];
      vals[j] = v;
    }
  }
}

} // namespace detail

/// Runs of `run` entries, each ascending: the second of two is compared with the mirror image of
/// the first, which leaves two bitonic halves that further halving sorts.
template <class K, class V>
constexpr void bitonic_sort(K* keys, V* vals, std::size_t n) {
  for (std::size_t run = 2; run / 2 < n; run *= 2) {
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t const j = i ^ (run - 1);
      if (i < j && j < n)
        detail::compare_exchange(keys, vals, i, j);
    }
    for (std::size_t half = run / 4; half > 0; half /= 2)
      for (std::size_t i = 0; i < n; ++i) {
        std::size_t const j = i ^ half;
        if (i < j && j < n)
          detail::compare_exchange(keys, vals, i, j);
      }
  }
}
template <class K>
constexpr void bitonic_sort(K* keys, std::size_t n) {
  bitonic_sort(keys, static_cast<detail::no_value*>(nullptr), n);
}

/// Runs of `run` entries, two and two merged by comparisons of distance run, run/2, ..., 1.
template <class K, class V>
constexpr void odd_even_sort(K* keys, V* vals, std::size_t n) {
  for (std::size_t run = 1; run < n; run *= 2)
    for (std::size_t step = run; step > 0; step /= 2)
      for (std::size_t first = step % run; first + step < n; first += 2 * step)
        for (std::size_t i = first; i < first + step && i + step < n; ++i)
          if (i / (2 * run) == (i + step) / (2 * run))
            detail::compare_exchange(keys, vals, i, i + step);
}
template <class K>
constexpr void odd_even_sort(K* keys, std::size_t n) {
  odd_even_sort(keys, static_cast<detail::no_value*>(nullptr), n);
}

} // namespace tulle::primitive
