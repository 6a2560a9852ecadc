// SPDX-License-Identifier: Apache-2.0

// Reduction and scans by vectors (primitive/reduce.hpp, scan.hpp). Integers as the plain
// forms give them; floating point in an order that depends on the length and the set alone.
#pragma once
#include "kernel/simd.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V>
constexpr int lanes_of = HWY_MAX_BYTES / static_cast<int>(sizeof(V));

struct plus {
  template <class Vec>
  HWY_INLINE Vec operator()(Vec a, Vec b) const {
    return hn::Add(a, b);
  }
  template <class V>
  static constexpr V neutral(V) {
    return V(0);
  }
};
struct least {
  template <class Vec>
  HWY_INLINE Vec operator()(Vec a, Vec b) const {
    return hn::Min(a, b);
  }
  template <class V>
  static constexpr V neutral(V init) {
    return init;
  }
};
struct greatest {
  template <class Vec>
  HWY_INLINE Vec operator()(Vec a, Vec b) const {
    return hn::Max(a, b);
  }
  template <class V>
  static constexpr V neutral(V init) {
    return init;
  }
};

/// op of all lanes: halves with halves.
template <class D, class Op>
HWY_INLINE hn::TFromD<D> reduce_lanes(D d, hn::Vec<D> v, Op op) {
  using V = hn::TFromD<D>;
  if constexpr (sizeof(decltype(hn::Zero(d).raw)) > 16) {
    hn::Half<D> const half;
    return reduce_lanes(half, op(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), op);
  } else if constexpr (sizeof(V) == 8) {
    return hn::GetLane(op(v, hn::Shuffle01(v)));
  } else {
    v = op(v, hn::Shuffle1032(v));
    return hn::GetLane(op(v, hn::Shuffle2301(v)));
  }
}

/// op of init and in[0..n). Four sums at once: one waits for each addition, four do not.
template <class V, class Op = plus>
V reduce(V const* in, std::int64_t n, V init = V(0), Op op = {}) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = lanes_of<V>;
  V const neutral = Op::neutral(init);
  auto s0 = hn::Set(d, neutral);
  auto s1 = s0;
  auto s2 = s0;
  auto s3 = s0;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = op(s0, hn::LoadU(d, in + i));
    s1 = op(s1, hn::LoadU(d, in + i + lanes));
    s2 = op(s2, hn::LoadU(d, in + i + 2 * lanes));
    s3 = op(s3, hn::LoadU(d, in + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes)
    s0 = op(s0, hn::LoadU(d, in + i));
  HWY_ALIGN V tail[lanes];
  hn::Store(hn::Set(d, neutral), d, tail);
  for (int k = 0; i + k < n; ++k)
    tail[k] = in[i + k];
  s1 = op(s1, hn::Load(d, tail));
  V const sum = reduce_lanes(d, op(op(s0, s1), op(s2, s3)), op);
  hn::FixedTag<V, 1> const one;
  return hn::GetLane(op(hn::Set(one, init), hn::Set(one, sum)));
}

/// Lane i of the result is lane i - k of v; zero for i < k.
template <int k, class D>
HWY_INLINE hn::Vec<D> shift_lanes(D d, hn::Vec<D> v) {
  if constexpr (HWY_MAX_BYTES == 16) {
    return hn::ShiftLeftLanes<k>(d, v);
  } else {
    hn::RebindToSigned<D> const di;
    auto const from = hn::Max(hn::Iota(di, -k), hn::Zero(di));
    return hn::IfThenZeroElse(hn::FirstN(d, k),
                              hn::TableLookupLanes(v, hn::IndicesFromVec(d, from)));
  }
}

/// The last lane in all lanes.
template <class D>
HWY_INLINE hn::Vec<D> last_lane(D d, hn::Vec<D> v) {
  using T = hwy::MakeSigned<hn::TFromD<D>>;
  hn::RebindToSigned<D> const di;
  constexpr T last = lanes_of<T> - 1;
  return hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::Set(di, last)));
}

template <int k = 1, class D>
HWY_INLINE hn::Vec<D> scan_lanes(D d, hn::Vec<D> v) {
  if constexpr (k < lanes_of<hn::TFromD<D>>)
    return scan_lanes<2 * k>(d, hn::Add(v, shift_lanes<k>(d, v)));
  else
    return v;
}

// The sum so far goes from vector to vector by one addition; all else of a vector is done beside
// it.
template <bool exclusive, class V>
V scan(V const* in, std::int64_t n, V* out, V init) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = lanes_of<V>;
  auto before = hn::Set(d, init);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto const v = scan_lanes(d, hn::LoadU(d, in + i));
    if constexpr (exclusive)
      hn::StoreU(hn::Add(before, shift_lanes<1>(d, v)), d, out + i);
    else
      hn::StoreU(hn::Add(before, v), d, out + i);
    before = hn::Add(before, last_lane(d, v));
  }
  V sum = hn::GetLane(before);
  for (; i < n; ++i) {
    V const next = sum + in[i];
    out[i] = exclusive ? sum : next;
    sum = next;
  }
  return sum;
}

/// out[i] = init + in[0] + ... + in[i]; returns the sum of all. out may be in.
template <class V>
V inclusive_scan(V const* in, std::int64_t n, V* out, V init = V(0)) {
  return scan<false>(in, n, out, init);
}

/// out[i] = init + in[0] + ... + in[i - 1]; returns the sum of all. out may be in.
template <class V>
V exclusive_scan(V const* in, std::int64_t n, V* out, V init = V(0)) {
  return scan<true>(in, n, out, init);
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
