// SPDX-License-Identifier: Apache-2.0

// Sums over the entries of one row, or of four short ones at a time, of any format whose entries of
// a row are contiguous.
#pragma once
#include "kernel/simd.hpp"
#include "kernel/spmv.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Prefetch distance in val, half of it in col. No prefetch where entries come from the caches: fem
// 1000 took 1.12 times as long with prefetches at distance 0, 1.09 with a branch around them in the
// loop over a row. ms on lattice with 512, 1024, 2048, 4096: .98, .92, .90, .84; on fem 1.30, 1.35,
// 1.33, 1.22; elsewhere alike.
constexpr int prefetch_bytes = 4096;
// Rows of at least this many entries are summed by vectors. 8: 1.4 times as long on random rows of
// 8 on average; 24: as 16; 32: 1.3 times as long on a grid of 27.
constexpr int vector_from = 16;
// The same for a row among shorter ones: changing to vectors for one row and back costs a branch
// misprediction. ms on random rows of 10 on average, and rmat 20: 16: 16.7, 26.7; 32: 15.4, 24.3;
// 48: as 32.
constexpr int vector_among_short = 32;
// In a row of this many entries that are this many bytes of x apart, each entry needs its own cache
// line, and the gather instruction keeps more misses in flight than single loads: lp 7.3 ms instead
// of 10.8. Shorter rows with such gaps, as in power laws, find most of x in the cache: with gather
// rmat 20 takes 1.2 times as long.
constexpr std::int64_t far_entries = 1024;
constexpr std::int64_t far_bytes = 1024;

inline std::int64_t ahead_of(plan_view const& p) {
  return p.streaming ? prefetch_bytes : 0;
}

/// A long row times x, by vectors.
template <bool streaming, bool far, class V, class I>
HWY_INLINE V long_dot(V const* val, I const* col, V const* x, std::int64_t k, std::int64_t end) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  auto const gathered = [&](I const* index) HWY_ATTR {
    if constexpr (far)
      return gather(d, x, index);
    else
      return gather_loads(d, x, index);
  };
  auto s = hn::Zero(d);
  auto t = hn::Zero(d);
  for (; k + 2 * lanes <= end; k += 2 * lanes) {
    if constexpr (streaming) {
      for (int line = 0; line < 2 * HWY_MAX_BYTES; line += 64)
        __builtin_prefetch(reinterpret_cast<char const*>(val + k) + prefetch_bytes + line);
      __builtin_prefetch(reinterpret_cast<char const*>(col + k) + prefetch_bytes / 2);
    }
    s = hn::MulAdd(hn::LoadU(d, val + k), gathered(col + k), s);
    t = hn::MulAdd(hn::LoadU(d, val + k + lanes), gathered(col + k + lanes), t);
  }
  if (k + lanes <= end) {
    s = hn::MulAdd(hn::LoadU(d, val + k), gathered(col + k), s);
    k += lanes;
  }
  V tail = 0;
  for (; k < end; ++k)
    tail = mul_add(val[k], x[col[k]], tail);
  return sum_of(d, hn::Add(s, t)) + tail;
}

/// The entries [k, end) of one row times x, or of a piece of one. Not inlined: with the vector
/// loops in the same function, the loop over short rows took 1.1 to 1.6 times as long.
template <bool streaming, class V, class I>
HWY_NOINLINE V dot(V const* val, I const* col, V const* x, std::int64_t k, std::int64_t end) {
  if constexpr (!is_pair<V>) {
    if (end - k >= vector_from) {
      bool const far = end - k >= far_entries && static_cast<std::int64_t>(col[end - 1] - col[k]) *
                                                         static_cast<std::int64_t>(sizeof(V)) >
                                                     far_bytes * (end - k);
      if (prefers_gather || far)
        return long_dot<streaming, true>(val, col, x, k, end);
      return long_dot<streaming, false>(val, col, x, k, end);
    }
  }
  V sum{};
  for (; k < end; ++k)
    sum = mul_add(val[k], x[col[k]], sum);
  return sum;
}

template <class V, class I>
HWY_INLINE V dot(V const* val, I const* col, V const* x, std::int64_t k, std::int64_t end,
                 std::int64_t ahead) {
  if constexpr (!is_pair<V>)
    if (ahead != 0)
      return dot<true>(val, col, x, k, end);
  return dot<false>(val, col, x, k, end);
}

/// Four rows at a time need four lanes.
template <class V>
inline constexpr bool has_quads = !is_pair<V> && HWY_MAX_BYTES >= 4 * sizeof(V);

/// Lane r: the sum of the lanes of vector r.
template <class D>
HWY_INLINE hn::Vec<D> sums_of(D d, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> e, hn::Vec<D> f) {
  auto const ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  auto const ef = hn::Add(hn::InterleaveLower(d, e, f), hn::InterleaveUpper(d, e, f));
  return hn::Add(hn::ConcatLowerLower(d, ef, ab), hn::ConcatUpperUpper(d, ef, ab));
}

/// The vector {a, b, e, f}.
template <class D, class V = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> four_lanes(D d, V a, V b, V e, V f) {
  typedef V lanes __attribute__((vector_size(4 * sizeof(V))));
  return hn::Vec<D>{reinterpret_cast<decltype(hn::Zero(d).raw)>(lanes{a, b, e, f})};
}

// Lengths known to the compiler. 8: 1.1 to 1.4 times as long on rows of 9 and 11.
constexpr int longest_known = 15;

/// The sums of four rows of `length` entries each, as a vector; row r begins at val[r] and col[r].
template <int length, class V, class I>
HWY_INLINE auto quad(V const* const (&val)[4], I const* const (&col)[4], V const* x) {
  hn::FixedTag<V, 4> const d;
  constexpr int whole = length / 4 * 4;
  V tail[4] = {};
  for (int r = 0; r < 4; ++r)
    for (int j = whole; j < length; ++j)
      tail[r] = mul_add(val[r][j], x[col[r][j]], tail[r]);
  auto const tails = four_lanes(d, tail[0], tail[1], tail[2], tail[3]);
  if constexpr (whole == 0) {
    return tails;
  } else {
    auto const row = [&](int r) HWY_ATTR {
      auto s = hn::Mul(hn::LoadU(d, val[r]), gather_loads(d, x, col[r]));
      for (int j = 4; j < whole; j += 4)
        s = hn::MulAdd(hn::LoadU(d, val[r] + j), gather_loads(d, x, col[r] + j), s);
      return s;
    };
    return hn::Add(sums_of(d, row(0), row(1), row(2), row(3)), tails);
  }
}

/// The same where rows begin `stride` entries apart.
template <int length, class V, class I>
HWY_INLINE auto quad(V const* val, I const* col, V const* x, std::int64_t stride = length) {
  return quad<length>({val, val + stride, val + 2 * stride, val + 3 * stride},
                      {col, col + stride, col + 2 * stride, col + 3 * stride}, x);
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
