// SPDX-License-Identifier: Apache-2.0

/// Checks of sorted lines and of permutations, for validate().
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/format/detail/check.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tulle::detail {

/// Positions where a sequence goes down; `strictly`: where it does not go up. In stretches whose
/// count fits a T, so that a vector counts in each of its lanes.
template <bool strictly = false, class T>
std::size_t descents(T const* p, std::size_t n) {
  std::size_t sum = 0;
  for (std::size_t k = 1; k < n;) {
    std::size_t const end = std::min(n, k + 4096);
    T here = 0;
    for (; k < end; ++k)
      here = static_cast<T>(here + (strictly ? p[k] <= p[k - 1] : p[k] < p[k - 1]));
    sum += static_cast<std::size_t>(here);
  }
  return sum;
}

/// The first of entries [begin, end), whose indices ascend, from index i on. Most lines of a band
/// lie on one side of i.
template <class I, class O>
O first_from(I const* index, O begin, O end, I i) {
  if (begin == end || index[end - 1] < i)
    return end;
  if (index[begin] >= i)
    return begin;
  return static_cast<O>(std::lower_bound(index + begin, index + end, i) - index);
}

/// ptr[0..n] starts at 0, does not decrease, ends at nnz.
template <class O>
void check_pointers(char const* name, O const* ptr, std::size_t n, O nnz) {
  if (ptr == nullptr) {
    if (n != 0 || nnz != 0)
      fail(errc::bad_structure, "%s is null, but it has %zu lines and %lld entries", name, n,
           static_cast<long long>(nnz));
    return;
  }
  if (ptr[0] != 0)
    fail(errc::bad_structure, "%s[0] is %lld, expected 0", name, static_cast<long long>(ptr[0]));
  if (descents(ptr, n + 1) != 0)
    for (std::size_t i = 0; i < n; ++i)
      if (ptr[i + 1] < ptr[i])
        fail(errc::bad_structure, "%s decreases from %lld to %lld at %zu", name,
             static_cast<long long>(ptr[i]), static_cast<long long>(ptr[i + 1]), i + 1);
  if (ptr[n] != nnz)
    fail(errc::bad_structure, "%s ends at %lld but there are %lld entries", name,
         static_cast<long long>(ptr[n]), static_cast<long long>(nnz));
}

/// No index, all of them checked, is there twice. Memory follows n, however large the limit is.
template <class I>
void check_distinct(char const* name, I const* index, std::size_t n, I limit) {
  auto const twice = [name](I i) {
    fail(errc::bad_structure, "%s %lld twice", name, static_cast<long long>(i));
  };
  if (static_cast<std::size_t>(limit) / 64 <= n) {
    array<std::uint8_t> seen(static_cast<std::size_t>(limit), std::uint8_t(0));
    for (std::size_t k = 0; k < n; ++k)
      if (seen[static_cast<std::size_t>(index[k])]++)
        twice(index[k]);
    return;
  }
  array<I> sorted(index, n);
  std::sort(sorted.begin(), sorted.end());
  if (I const* const at = std::adjacent_find(sorted.begin(), sorted.end()); at != sorted.end())
    twice(*at);
}

} // namespace tulle::detail
