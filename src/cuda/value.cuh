// SPDX-License-Identifier: Apache-2.0

// Values in kernels: float and double unchanged, std::complex<T> as complex<T>. Operations such as
// shuffles are applied to each part of a value. So kernels need no code for complex values.
#pragma once
#include <complex>
#include <type_traits>

namespace tulle::kernels::cuda {

/// std::complex<T> as a plain struct: the same layout, by [complex.numbers], but it is read and
/// written at once, so it is aligned to its size. The arithmetic is the cpu's (kernel/simd.hpp): a
/// product is rounded as written, fma() four times.
template <class T>
struct alignas(2 * sizeof(T)) complex {
  T re, im;

  complex() = default;
  __host__ __device__ constexpr complex(T re, T im = 0) : re(re), im(im) {}

  friend __host__ __device__ constexpr complex operator+(complex a, complex b) {
    return {a.re + b.re, a.im + b.im};
  }
  friend __host__ __device__ constexpr complex operator*(complex a, complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend __host__ __device__ constexpr bool operator==(complex a, complex b) {
    return a.re == b.re && a.im == b.im;
  }
  __host__ __device__ constexpr complex& operator+=(complex b) { return *this = *this + b; }
  __host__ __device__ constexpr complex& operator*=(complex b) { return *this = *this * b; }
  /// a b + s.
  friend __device__ complex fma(complex a, complex b, complex s) {
    return {::fma(-a.im, b.im, ::fma(a.re, b.re, s.re)),
            ::fma(a.im, b.re, ::fma(a.re, b.im, s.im))};
  }
};

template <class V>
struct plain_of {
  using type = V;
};
template <class T>
struct plain_of<std::complex<T>> {
  using type = complex<T>;
};
/// V in kernels.
template <class V>
using plain = typename plain_of<V>::type;

/// A factor, given as a number of any type, rounded to V.
template <class V>
V rounded(std::complex<double> factor) {
  if constexpr (std::is_floating_point_v<V>)
    return static_cast<V>(factor.real());
  else
    return {static_cast<decltype(V::re)>(factor.real()),
            static_cast<decltype(V::re)>(factor.imag())};
}

template <class V>
__device__ V conjugate(V v) {
  return v;
}
template <class T>
__device__ complex<T> conjugate(complex<T> v) {
  return {v.re, -v.im};
}

/// Applies f to each part.
template <class V, class F>
__device__ constexpr V by_parts(V v, F const& f) {
  return f(v);
}
template <class T, class F>
__device__ constexpr complex<T> by_parts(complex<T> v, F const& f) {
  return {f(v.re), f(v.im)};
}
/// Whether f holds for each part.
template <class V, class F>
__device__ constexpr bool all_parts(V v, F const& f) {
  return f(v);
}
template <class T, class F>
__device__ constexpr bool all_parts(complex<T> v, F const& f) {
  return f(v.re) && f(v.im);
}

/// The type as which the hardware loads a value.
template <class V>
struct loaded_as {
  using type = V;
};
template <>
struct loaded_as<complex<float>> {
  using type = float2;
};
template <>
struct loaded_as<complex<double>> {
  using type = double2;
};
/// load(p), one of __ldg, __ldcs and __ldcg, by V's own load.
template <class V, class F>
__device__ V load_by(V const* p, F const& load) {
  using raw = typename loaded_as<V>::type;
  raw const v = load(reinterpret_cast<raw const*>(p));
  return reinterpret_cast<V const&>(v);
}
/// *p, which no kernel writes.
template <class V>
__device__ V load_read_only(V const* p) {
  return load_by(p, [](auto const* q) { return __ldg(q); });
}
/// *p, read once.
template <class V>
__device__ V load_streaming(V const* p) {
  return load_by(p, [](auto const* q) { return __ldcs(q); });
}
/// *p, bypassing the first-level cache.
template <class V>
__device__ V load_past_l1(V const* p) {
  return load_by(p, [](auto const* q) { return __ldcg(q); });
}

/// What the first product of an entry is added to: x + -0 is x for every x, so an entry with one
/// product equals it.
template <class V>
__device__ constexpr V nothing() {
  return by_parts(V(), [](auto part) { return decltype(part)(-0.0); });
}
__device__ inline bool is_nothing_part(double x) {
  return __double_as_longlong(x) == __double_as_longlong(-0.0);
}
__device__ inline bool is_nothing_part(float x) {
  return __float_as_int(x) == __float_as_int(-0.0f);
}
template <class V>
__device__ bool is_nothing(V v) {
  return all_parts(v, [](auto part) { return is_nothing_part(part); });
}

} // namespace tulle::kernels::cuda
