// SPDX-License-Identifier: Apache-2.0

// Values of one row of X that are solved together: W columns. A column has the same operations in
// the same order whatever W is, so its bits do not depend on its neighbours.
#pragma once
#include "kernel/simd.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Sums of products name what is contracted: GCC 12 makes fmaddsub of a product of pairs that it
// vectorises, whatever -ffp-contract says, and other numbers of columns would have other bits.
template <class V>
HWY_INLINE V product(V a, V b) {
  return a * b;
}
template <class T>
HWY_INLINE pair<T> product(pair<T> a, pair<T> b) {
  return {mul_add(-a.im, b.im, a.re * b.re), mul_add(a.im, b.re, a.re * b.im)};
}

template <class V, int W>
struct group { // of real values
  using tag = hn::CappedTag<V, W>;
  static constexpr int lanes = sizeof(decltype(hn::Zero(tag()).raw)) / sizeof(V);
  static constexpr int n = W / lanes;
  hn::Vec<tag> v[n];

  static HWY_INLINE group zero() {
    group g;
    for (int k = 0; k < n; ++k)
      g.v[k] = hn::Zero(tag());
    return g;
  }
  static HWY_INLINE group load(V const* p) {
    group g;
    for (int k = 0; k < n; ++k)
      g.v[k] = hn::LoadU(tag(), p + k * lanes);
    return g;
  }
  HWY_INLINE void store(V* p) const {
    for (int k = 0; k < n; ++k)
      hn::StoreU(v[k], tag(), p + k * lanes);
  }
  /// Past the caches; p is at a multiple of 64.
  HWY_INLINE void stream(V* p) const {
    for (int k = 0; k < n; ++k)
      hn::Stream(v[k], tag(), p + k * lanes);
  }
  HWY_INLINE void subtract(V a, V const* x) {
    for (int k = 0; k < n; ++k)
      v[k] = hn::NegMulAdd(hn::Set(tag(), a), hn::LoadU(tag(), x + k * lanes), v[k]);
  }
  HWY_INLINE void add(group const& b) {
    for (int k = 0; k < n; ++k)
      v[k] = hn::Add(v[k], b.v[k]);
  }
  HWY_INLINE void multiply(V a) {
    for (int k = 0; k < n; ++k)
      v[k] = hn::Mul(hn::Set(tag(), a), v[k]);
  }
  HWY_INLINE void divide(V a) {
    for (int k = 0; k < n; ++k)
      v[k] = hn::Div(v[k], hn::Set(tag(), a));
  }
};

template <class V>
struct group<V, 1> {
  V v;
  static HWY_INLINE group zero() { return {V(0)}; }
  static HWY_INLINE group load(V const* p) { return {*p}; }
  HWY_INLINE void store(V* p) const { *p = v; }
  HWY_INLINE void subtract(V a, V const* x) { v = mul_add(-a, *x, v); }
  HWY_INLINE void add(group const& b) { v = v + b.v; }
  HWY_INLINE void multiply(V a) { v = product(a, v); }
  HWY_INLINE void divide(V a) { v = v / a; }
};

// s / d by Smith's method, which does not overflow on the way.
template <class T>
HWY_INLINE pair<T> quotient(pair<T> s, pair<T> d) {
  if (__builtin_fabs(static_cast<double>(d.re)) >= __builtin_fabs(static_cast<double>(d.im))) {
    T const t = d.im / d.re, den = mul_add(d.im, t, d.re);
    return {mul_add(s.im, t, s.re) / den, mul_add(-s.re, t, s.im) / den};
  }
  T const t = d.re / d.im, den = mul_add(d.re, t, d.im);
  return {mul_add(s.re, t, s.im) / den, mul_add(s.im, t, -s.re) / den};
}

template <class T, int W>
struct pair_group {
  using V = pair<T>;
  V v[W];
  static HWY_INLINE pair_group zero() {
    pair_group g;
    for (int k = 0; k < W; ++k)
      g.v[k] = {0, 0};
    return g;
  }
  static HWY_INLINE pair_group load(V const* p) {
    pair_group g;
    for (int k = 0; k < W; ++k)
      g.v[k] = p[k];
    return g;
  }
  HWY_INLINE void store(V* p) const {
    for (int k = 0; k < W; ++k)
      p[k] = v[k];
  }
  HWY_INLINE void subtract(V a, V const* x) {
    V const minus = {-a.re, -a.im};
    for (int k = 0; k < W; ++k)
      v[k] = mul_add(minus, x[k], v[k]);
  }
  HWY_INLINE void add(pair_group const& b) {
    for (int k = 0; k < W; ++k)
      v[k] = v[k] + b.v[k];
  }
  HWY_INLINE void multiply(V a) {
    for (int k = 0; k < W; ++k)
      v[k] = product(a, v[k]);
  }
  HWY_INLINE void divide(V a) {
    for (int k = 0; k < W; ++k)
      v[k] = quotient(v[k], a);
  }
};
template <class T, int W>
struct group<pair<T>, W> : pair_group<T, W> {
  HWY_INLINE group(pair_group<T, W> const& g) : pair_group<T, W>(g) {}
};
template <class T>
struct group<pair<T>, 1> : pair_group<T, 1> {
  HWY_INLINE group(pair_group<T, 1> const& g) : pair_group<T, 1>(g) {}
};

/// Numbers whose inverses are neither infinite nor denormal.
template <class T>
HWY_INLINE bool has_inverse(T d) {
  constexpr double small = sizeof(T) == 8 ? 0x1p-1020 : 0x1p-124;
  double const size = __builtin_fabs(static_cast<double>(d));
  return size >= small && size <= 1 / small;
}
template <class T>
HWY_INLINE bool has_inverse(pair<T> d) {
  double const re = __builtin_fabs(static_cast<double>(d.re));
  double const im = __builtin_fabs(static_cast<double>(d.im));
  return has_inverse(static_cast<T>(re > im ? re : im)) && re == re && im == im;
}
template <class T>
HWY_INLINE T inverse(T d) {
  return T(1) / d;
}
template <class T>
HWY_INLINE pair<T> inverse(pair<T> d) {
  return quotient(pair<T>{1, 0}, d);
}
template <class T>
HWY_INLINE bool is_zero(T d) {
  return d == T(0);
}
template <class T>
HWY_INLINE bool is_zero(pair<T> d) {
  return d.re == 0 && d.im == 0;
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
