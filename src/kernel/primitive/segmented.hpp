// SPDX-License-Identifier: Apache-2.0

// Segmented scan and sum by vectors (primitive/segmented.hpp): the exact form, in which no
// segment's sum meets another's.
#pragma once
#include "kernel/primitive/scan.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// head[0..lanes), bytes of 0 or 1, as bits.
template <int lanes>
HWY_INLINE unsigned head_bits(std::uint8_t const* head) {
  constexpr int take = lanes < 8 ? lanes : 8;
  constexpr std::uint64_t gather = 0x0102040810204080; // bit 0 of byte i to bit 56 + i
  unsigned bits = 0;
  for (int i = 0; i < lanes; i += take) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, head + i, take);
    bits |= static_cast<unsigned>(bytes * gather >> 56) << i;
  }
  return bits;
}

template <class D>
HWY_INLINE auto mask_of(D d, unsigned bits) {
  std::uint64_t const wide = bits;
  return hn::LoadMaskBits(d, reinterpret_cast<std::uint8_t const*>(&wide));
}

/// The lanes that bits name, moved to the front. By the instruction for 64-bit lanes too, where
/// Highway 1.0.3 has a table: segmented_sum of segments of one double took 4.9 ns an entry with
/// that, and 0.8 so.
template <class D>
HWY_INLINE hn::Vec<D> compress(D d, hn::Vec<D> v, unsigned bits) {
#if HWY_MAX_BYTES == 64 && defined(__AVX512F__)
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    hn::RebindToSigned<D> const di;
    auto const lanes = hn::BitCast(di, v).raw;
    return hn::BitCast(
        d, hn::Vec<decltype(di)>{_mm512_maskz_compress_epi64(static_cast<__mmask8>(bits), lanes)});
  }
#endif
  return hn::Compress(v, mask_of(d, bits));
}

/// Lane i of the result is lane i - k of v; any for i < k.
template <int k, class D>
HWY_INLINE hn::Vec<D> rotate_lanes(D d, hn::Vec<D> v) {
  if constexpr (HWY_MAX_BYTES == 16) {
    return hn::ShiftLeftLanes<k>(d, v);
  } else {
    hn::RebindToSigned<D> const di;
    auto const from = hn::Max(hn::Iota(di, -k), hn::Zero(di));
    return hn::TableLookupLanes(v, hn::IndicesFromVec(d, from));
  }
}

/// A vector's segmented scan. bits: its heads, spread on return to every lane from the first head
/// on.
template <int k = 1, class D>
HWY_INLINE hn::Vec<D> segmented_lanes(D d, hn::Vec<D> v, unsigned& bits) {
  if constexpr (k < lanes_of<hn::TFromD<D>>) {
    // Bit i: a head among the k lanes that end at i, so that lane i - k is of another segment. The
    // first k lanes have none before them, so the shift may leave anything there.
    constexpr unsigned first = (1u << k) - 1;
    auto const from = hn::IfThenElseZero(mask_of(d, ~(bits | first)), rotate_lanes<k>(d, v));
    bits |= bits << k;
    return segmented_lanes<2 * k>(d, hn::Add(v, from), bits);
  } else {
    return v;
  }
}

/// f(i, vector, heads) for each whole vector of the segmented scan, then g(i, sum) for each entry
/// left.
template <class V, class F, class G>
HWY_INLINE void walk_segments(V const* in, std::uint8_t const* head, std::int64_t n, F f, G g) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = lanes_of<V>;
  auto before = hn::Zero(d); // the open segment's sum so far
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    unsigned const heads = head_bits<lanes>(head + i);
    unsigned closed = heads;
    auto const v = segmented_lanes(d, hn::LoadU(d, in + i), closed);
    auto const sums = hn::Add(v, hn::IfThenElseZero(mask_of(d, ~closed), before));
    f(i, sums, heads);
    before = last_lane(d, sums);
  }
  V sum = hn::GetLane(before);
  for (; i < n; ++i) {
    sum = head[i] ? in[i] : sum + in[i];
    g(i, sum);
  }
}

/// out[i] = the sum from the head of i's segment to i; heads are bytes of 0 or 1. out may be in.
template <class V>
void segmented_scan(V const* in, std::uint8_t const* head, std::int64_t n, V* out) {
  hn::ScalableTag<V> const d;
  walk_segments(
      in, head, n,
      [=](std::int64_t i, hn::Vec<decltype(d)> v, unsigned) HWY_ATTR { hn::StoreU(v, d, out + i); },
      [=](std::int64_t i, V sum) { out[i] = sum; });
}

/// out[s] = the sum of segment s. Returns the number of segments; `room` is how many out can take,
/// at least that many, and what it has beyond them may be overwritten. out may be in.
template <class V>
std::int64_t segmented_sum(V const* in, std::uint8_t const* head, std::int64_t n, V* out,
                           std::int64_t room) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = lanes_of<V>;
  std::int64_t segments = 0;
  walk_segments(
      in, head, n,
      [&](std::int64_t i, hn::Vec<decltype(d)> v, unsigned heads) HWY_ATTR {
        bool const last = i + lanes == n || head[i + lanes];
        unsigned const ends = heads >> 1 | static_cast<unsigned>(last) << (lanes - 1);
        if (ends == 0)
          return;
        auto const sums = compress(d, v, ends);
        int const found = __builtin_popcount(ends);
        if (segments + lanes <= room) {
          hn::StoreU(sums, d, out + segments);
        } else {
          HWY_ALIGN V few[lanes];
          hn::Store(sums, d, few);
          for (int k = 0; k < found; ++k)
            out[segments + k] = few[k];
        }
        segments += found;
      },
      [&](std::int64_t i, V sum) {
        if (i + 1 == n || head[i + 1])
          out[segments++] = sum;
      });
  return segments;
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
