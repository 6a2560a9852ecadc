// SPDX-License-Identifier: Apache-2.0

/// Intersection and union of sorted index lists. Indices ascend strictly within a list.
///
///     a  1 3 5 8      intersection of a, b:  (1, 0) (3, 2), positions of 3 and 8
///     b  3 4 8        union_:                1 3 4 5 8
#pragma once
#include "tulle/version.hpp"

#include <cstddef>

namespace tulle::primitive {

/// match(i, j) for every a[i] == b[j], in order. Returns how many there were.
template <class I, class Match>
constexpr std::size_t intersection(I const* a, std::size_t na, I const* b, std::size_t nb,
                                   Match match) {
  std::size_t found = 0;
  for (std::size_t i = 0, j = 0; i < na && j < nb;) {
    if (a[i] < b[j]) {
      ++i;
    } else if (b[j] < a[i]) {
      ++j;
    } else {
      match(i++, j++);
      ++found;
    }
  }
  return found;
}

/// at_a[k] and at_b[k]: where match k lies in a and in b. Room for the shorter list's length each.
template <class I, class P>
constexpr std::size_t intersection(I const* a, std::size_t na, I const* b, std::size_t nb, P* at_a,
                                   P* at_b) {
  std::size_t k = 0;
  return intersection(a, na, b, nb, [&](std::size_t i, std::size_t j) {
    at_a[k] = static_cast<P>(i);
    at_b[k++] = static_cast<P>(j);
  });
}

/// entry(index, i, j) for every index of a or b, in order; i is na where a lacks it, j is nb where
/// b does. Returns how many there were.
template <class I, class Entry>
requires requires(Entry f, I k, std::size_t i) {
  f(k, i, i);
}
constexpr std::size_t union_(I const* a, std::size_t na, I const* b, std::size_t nb, Entry entry) {
  std::size_t found = 0;
  for (std::size_t i = 0, j = 0; i < na || j < nb; ++found) {
    bool const in_a = j == nb || (i < na && !(b[j] < a[i]));
    bool const in_b = i == na || (j < nb && !(a[i] < b[j]));
    entry(in_a ? a[i] : b[j], in_a ? i : na, in_b ? j : nb);
    i += in_a;
    j += in_b;
  }
  return found;
}

/// The indices themselves. out has room for na + nb.
template <class I>
constexpr std::size_t union_(I const* a, std::size_t na, I const* b, std::size_t nb, I* out) {
  return union_(a, na, b, nb, [&](I index, std::size_t, std::size_t) { *out++ = index; });
}

} // namespace tulle::primitive
