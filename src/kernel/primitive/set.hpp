// SPDX-License-Identifier: Apache-2.0

// Intersection of sorted index lists (primitive/set.hpp): a few indices of one list against a
// vector of the other, all with all; then the list whose part ends first goes on. Without a branch
// that depends on the indices, but for matches.
#pragma once
#include "kernel/primitive/scan.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Where one list is so many times longer, its entries are searched for instead.
constexpr std::int64_t search_ratio = 64;

/// First of sorted[i..n) not less than key, by strides that double.
template <class I>
HWY_INLINE std::int64_t gallop(I const* sorted, std::int64_t i, std::int64_t n, I key) {
  std::int64_t step = 1;
  while (i + step < n && sorted[i + step] < key) {
    i += step;
    step *= 2;
  }
  std::int64_t end = i + step < n ? i + step : n;
  while (i < end) {
    std::int64_t const mid = i + (end - i) / 2;
    if (sorted[mid] < key)
      i = mid + 1;
    else
      end = mid;
  }
  return i;
}

template <class I, class Match>
HWY_INLINE std::int64_t search_each(I const* few, std::int64_t n, I const* many, std::int64_t m,
                                    Match match) {
  std::int64_t found = 0;
  std::int64_t j = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    j = gallop(many, j, m, few[i]);
    if (j == m)
      break;
    if (many[j] == few[i]) {
      match(i, j);
      ++found;
    }
  }
  return found;
}

/// match(i, j) for every a[i] == b[j], in order; indices ascend strictly in both lists. Returns how
/// many there were.
template <class I, class Match>
HWY_INLINE std::int64_t intersection(I const* a, std::int64_t na, I const* b, std::int64_t nb,
                                     Match match) {
  if (na > nb * search_ratio)
    return search_each(b, nb, a, na, [=](std::int64_t j, std::int64_t i) { match(i, j); });
  if (nb > na * search_ratio)
    return search_each(a, na, b, nb, match);
  hn::ScalableTag<I> const d;
  constexpr int lanes = lanes_of<I>;
  constexpr int group = lanes < 8 ? 4 : 8; // of a
  std::int64_t found = 0;
  std::int64_t i = 0;
  std::int64_t j = 0;
  while (i + group <= na && j + lanes <= nb) {
    auto const vb = hn::LoadU(d, b + j);
    auto equal = hn::Eq(vb, hn::Set(d, a[i]));
#pragma GCC unroll 8
    for (int k = 1; k < group; ++k)
      equal = hn::Or(equal, hn::Eq(vb, hn::Set(d, a[i + k])));
    std::uint64_t bits = 0;
    hn::StoreMaskBits(d, equal, reinterpret_cast<std::uint8_t*>(&bits));
    std::int64_t k = i;
    for (; bits; bits &= bits - 1) {
      std::int64_t const at = j + __builtin_ctzll(bits);
      while (a[k] != b[at])
        ++k;
      match(k, at);
      ++found;
    }
    I const last_a = a[i + group - 1];
    I const last_b = b[j + lanes - 1];
    i += last_a <= last_b ? group : 0;
    j += last_b <= last_a ? lanes : 0;
  }
  while (i < na && j < nb) {
    if (a[i] == b[j]) {
      match(i++, j++);
      ++found;
    } else {
      bool const less = a[i] < b[j];
      i += less;
      j += !less;
    }
  }
  return found;
}

/// at_a[k] and at_b[k]: where match k lies in a and in b. Room for the shorter list's length each.
template <class I, class P>
std::int64_t intersection(I const* a, std::int64_t na, I const* b, std::int64_t nb, P* at_a,
                          P* at_b) {
  std::int64_t k = 0;
  return intersection(a, na, b, nb, [&](std::int64_t i, std::int64_t j) {
    at_a[k] = static_cast<P>(i);
    at_b[k++] = static_cast<P>(j);
  });
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
