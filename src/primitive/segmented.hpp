// SPDX-License-Identifier: Apache-2.0

/// Scans and sums that begin anew at every segment. head[i] says that a segment begins at i; what
/// lies before the first head is a segment too.
///
///     in                  3 1 7 0 4 1 6 3
///     head                1 0 1 0 0 0 1 0
///     segmented_scan      3 4 7 7 11 12 6 9
///     segmented_sum       4 12 9
///     seg_offset          1 0 3 0 0 0 1 0    from a head to the last entry of its segment
///     fast_segmented_sum  4 1 12 0 4 1 9 3   at the heads the sums, elsewhere in itself
///
/// From   Liu, thesis 2015, sec. 4.4.3-4.4.4, algorithm 13.
#pragma once
#include "primitive/scan.hpp"

namespace tulle::primitive {

/// out[i] = the sum from the head of i's segment to i. out may be in.
template <class T, class Flag>
constexpr void segmented_scan(T const* in, Flag const* head, std::size_t n, T* out) {
  T sum = T();
  for (std::size_t i = 0; i < n; ++i)
    out[i] = sum = head[i] ? in[i] : static_cast<T>(sum + in[i]);
}

/// out[s] = the sum of segment s, from left to right. Returns the number of segments. out may be
/// in.
template <class T, class Flag>
constexpr std::size_t segmented_sum(T const* in, Flag const* head, std::size_t n, T* out) {
  std::size_t segments = 0;
  for (std::size_t i = 0; i < n;) {
    T sum = in[i++];
    for (; i < n && !head[i]; ++i)
      sum = static_cast<T>(sum + in[i]);
    out[segments++] = sum;
  }
  return segments;
}

/// out[i] = how far from i, a head, the last entry of its segment lies; 0 where i is no head.
template <class Flag, class I>
constexpr void seg_offset(Flag const* head, std::size_t n, I* out) {
  std::size_t last = n; // entry of the segment that i is in
  for (std::size_t i = n; i-- > 0;) {
    if (last == n)
      last = i;
    bool const begins = i == 0 || head[i];
    out[i] = begins ? static_cast<I>(last - i) : I(0);
    if (begins)
      last = n;
  }
}

/// out[i] = in[i] + ... + in[i + offset[i]], as a difference of two entries of one scan, which out
/// holds meanwhile: out is not in.
///
/// The difference loses digits wherever a large segment precedes a small one: after a segment of
/// 1e16, one of 1 sums to 0; after an Inf or NaN every sum is NaN. For integers it is exact.
/// segmented_sum loses nothing of either kind.
template <class T, class I>
constexpr void fast_segmented_sum(T const* in, I const* offset, std::size_t n, T* out) {
  inclusive_scan(in, n, out);
  // In order: entry i is read by itself and by entries before it only.
  for (std::size_t i = 0; i < n; ++i)
    out[i] = static_cast<T>(out[i + static_cast<std::size_t>(offset[i])] - out[i] + in[i]);
}

} // namespace tulle::primitive
