// SPDX-License-Identifier: Apache-2.0

/// Merges of two sorted lists, stable: of equal keys, those of a come first, each list's in its
/// order. out has na + nb entries and overlaps neither list. The forms with values move those
/// along.
///
///     a  1 3 3 8      b  2 3 9      out  1 2 3 3 3 8 9
///
/// From   Liu, thesis 2015, sec. 4.5.4-4.5.5, algorithms 16-18.
#pragma once
#include "primitive/search.hpp"

namespace tulle::primitive {

/// The obvious loop: the smaller of the two heads, again and again.
template <class K>
constexpr void serial_merge(K const* a, std::size_t na, K const* b, std::size_t nb, K* out) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < na && j < nb) {
    bool const from_b = b[j] < a[i];
    out[i + j] = from_b ? b[j] : a[i];
    (from_b ? j : i) += 1;
  }
  for (; i < na; ++i)
    out[i + j] = a[i];
  for (; j < nb; ++j)
    out[i + j] = b[j];
}
template <class K, class V>
constexpr void serial_merge(K const* a, V const* av, std::size_t na, K const* b, V const* bv,
                            std::size_t nb, K* out, V* outv) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < na && j < nb) {
    bool const from_b = b[j] < a[i];
    out[i + j] = from_b ? b[j] : a[i];
    outv[i + j] = from_b ? bv[j] : av[i];
    (from_b ? j : i) += 1;
  }
  for (; i < na; ++i) {
    out[i + j] = a[i];
    outv[i + j] = av[i];
  }
  for (; j < nb; ++j) {
    out[i + j] = b[j];
    outv[i + j] = bv[j];
  }
}

/// How many of the first `diagonal` entries of the merge come from a; the rest come from b.
template <class K>
constexpr std::size_t merge_path(K const* a, std::size_t na, K const* b, std::size_t nb,
                                 std::size_t diagonal) {
  std::size_t lo = diagonal > nb ? diagonal - nb : 0;
  std::size_t hi = diagonal < na ? diagonal : na;
  while (lo < hi) {
    std::size_t const mid = lo + (hi - lo) / 2;
    if (b[diagonal - 1 - mid] < a[mid]) // a[mid] comes after that one: too many of a
      hi = mid;
    else
      lo = mid + 1;
  }
  return lo;
}

/// Part `part` of `parts` of a merge: an even share of the output, whatever the keys are. All
/// parts, in any order or at once, make the merge.
template <class K>
constexpr void merge_part(K const* a, std::size_t na, K const* b, std::size_t nb, K* out,
                          std::size_t part, std::size_t parts) {
  std::size_t const n = na + nb;
  std::size_t const first = n / parts * part + n % parts * part / parts;
  std::size_t const last = n / parts * (part + 1) + n % parts * (part + 1) / parts;
  std::size_t const i = merge_path(a, na, b, nb, first);
  std::size_t const end = merge_path(a, na, b, nb, last);
  serial_merge(a + i, end - i, b + (first - i), last - end - (first - i), out + first);
}
template <class K, class V>
constexpr void merge_part(K const* a, V const* av, std::size_t na, K const* b, V const* bv,
                          std::size_t nb, K* out, V* outv, std::size_t part, std::size_t parts) {
  std::size_t const n = na + nb;
  std::size_t const first = n / parts * part + n % parts * part / parts;
  std::size_t const last = n / parts * (part + 1) + n % parts * (part + 1) / parts;
  std::size_t const i = merge_path(a, na, b, nb, first);
  std::size_t const j = first - i;
  std::size_t const end = merge_path(a, na, b, nb, last);
  serial_merge(a + i, av + i, end - i, b + j, bv + j, last - end - j, out + first, outv + first);
}

/// Each entry finds its own place: its rank in its list plus its rank in the other.
template <class K>
constexpr void ranking_merge(K const* a, std::size_t na, K const* b, std::size_t nb, K* out) {
  for (std::size_t i = 0; i < na; ++i)
    out[i + lower_bound(b, nb, a[i])] = a[i];
  for (std::size_t j = 0; j < nb; ++j)
    out[j + upper_bound(a, na, b[j])] = b[j];
}
template <class K, class V>
constexpr void ranking_merge(K const* a, V const* av, std::size_t na, K const* b, V const* bv,
                             std::size_t nb, K* out, V* outv) {
  for (std::size_t i = 0; i < na; ++i) {
    std::size_t const at = i + lower_bound(b, nb, a[i]);
    out[at] = a[i];
    outv[at] = av[i];
  }
  for (std::size_t j = 0; j < nb; ++j) {
    std::size_t const at = j + upper_bound(a, na, b[j]);
    out[at] = b[j];
    outv[at] = bv[j];
  }
}

} // namespace tulle::primitive
