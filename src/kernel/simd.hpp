// SPDX-License-Identifier: Apache-2.0

// Highway for one instruction set, and the few things kernels need beside it. Included inside no
// namespace; everything here has internal linkage.
#pragma once
#include <complex> // named in views; its arithmetic is not used: inline functions of the library would be shared
#include <cstdint>
#include <cstring>
#include <hwy/highway.h>

#define TULLE_STRING_(x) #x
#define TULLE_STRING(x) TULLE_STRING_(x)

namespace tulle::kernels::TULLE_ISA {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Highway falls back to narrower vectors without a word when a flag is missing, so each set is held
// to its width.
namespace width {
constexpr int baseline = 16, avx2 = 32, avx512 = 64;
}
#if defined(__x86_64__)
static_assert(HWY_MAX_BYTES == width::TULLE_ISA,
              "the flags of this instruction set miss something");
#endif

/// std::complex<T> as a plain struct with arithmetic of our own: same layout, by [complex.numbers].
template <class T>
struct pair {
  T re, im;
  friend HWY_INLINE pair operator+(pair a, pair b) { return {a.re + b.re, a.im + b.im}; }
  friend HWY_INLINE pair operator*(pair a, pair b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend HWY_INLINE bool operator==(pair a, pair b) { return a.re == b.re && a.im == b.im; }
};
template <class V>
struct plain_of {
  using type = V;
};
template <class T>
struct plain_of<std::complex<T>> {
  using type = pair<T>;
};
/// V in kernels: itself, or pair<T> for std::complex<T>.
template <class V>
using plain = typename plain_of<V>::type;
template <class V>
HWY_INLINE plain<V> const* as_plain(V const* p) {
  return reinterpret_cast<plain<V> const*>(p);
}
template <class V>
HWY_INLINE plain<V>* as_plain(V* p) {
  return reinterpret_cast<plain<V>*>(p);
}
template <class V>
inline constexpr bool is_pair = false;
template <class T>
inline constexpr bool is_pair<pair<T>> = true;

/// s + a * b, with one rounding where the set has it. The one place that decides, so that a sum has
/// the same bits wherever in the kernel it is taken.
template <class V>
HWY_INLINE V mul_add(V a, V b, V s) {
  if constexpr (is_pair<V>) {
    return {mul_add(-a.im, b.im, mul_add(a.re, b.re, s.re)),
            mul_add(a.im, b.re, mul_add(a.re, b.im, s.im))};
  } else {
#ifdef __FMA__
    if constexpr (sizeof(V) == 8)
      return __builtin_fma(a, b, s);
    else
      return __builtin_fmaf(a, b, s);
#else
    return s + a * b;
#endif
  }
}

/// beta * y + alpha * sum; y is not read where beta is zero.
template <class V>
HWY_INLINE void update(V* y, V alpha, V sum, V beta, bool beta_is_zero) {
  *y = beta_is_zero ? alpha * sum : mul_add(alpha, sum, beta * *y);
}

/// x[index[0..lanes)] by single loads. On Zen 4, ns an entry of a long CSR row in L2: eight lanes
/// by gather 0.51, four by gather 0.44, four by loads 0.26, scalar 0.39.
template <class D, class V, class I>
HWY_INLINE hn::Vec<D> gather_loads(D d, V const* x, I const* index) {
  using raw = decltype(hn::Zero(d).raw);
  constexpr int n = sizeof(raw) / sizeof(V);
  typedef V lanes __attribute__((vector_size(n * sizeof(V))));
  std::uint64_t at[n];
  if constexpr (sizeof(I) == 4) { // two indices a load: loads are what binds here
    for (int i = 0; i < n; i += 2) {
      std::uint64_t two;
      std::memcpy(&two, index + i, 8);
      at[i] = two & 0xffffffffu;
      at[i + 1] = two >> 32;
    }
  } else {
    for (int i = 0; i < n; ++i)
      at[i] = static_cast<std::uint64_t>(index[i]);
  }
  lanes g;
  if constexpr (n == 2)
    g = lanes{x[at[0]], x[at[1]]};
  else if constexpr (n == 4)
    g = lanes{x[at[0]], x[at[1]], x[at[2]], x[at[3]]};
  else if constexpr (n == 8)
    g = lanes{x[at[0]], x[at[1]], x[at[2]], x[at[3]], x[at[4]], x[at[5]], x[at[6]], x[at[7]]};
  else
    g = lanes{x[at[0]], x[at[1]], x[at[2]],  x[at[3]],  x[at[4]],  x[at[5]],  x[at[6]],  x[at[7]],
              x[at[8]], x[at[9]], x[at[10]], x[at[11]], x[at[12]], x[at[13]], x[at[14]], x[at[15]]};
  return hn::Vec<D>{reinterpret_cast<raw>(g)};
}

/// Whether the set's gather is worth using wherever it is: AVX-512 on Intel. (On AMD the avx2 set
/// runs: core/machine.cpp.)
constexpr bool prefers_gather = HWY_MAX_BYTES == 64;

/// x[index[0..lanes)] by the gather instruction, where the set has one for these types.
template <class D, class V, class I>
HWY_INLINE hn::Vec<D> gather(D d, V const* x, I const* index) {
  if constexpr (HWY_MAX_BYTES == 16 || sizeof(V) < sizeof(I)) {
    return gather_loads(d, x, index);
  } else {
    hn::Rebind<hwy::MakeSigned<V>, D> const wide; // the double gather takes 64-bit indices
    if constexpr (sizeof(V) == sizeof(I))
      return hn::GatherIndex(d, x,
                             hn::LoadU(wide, reinterpret_cast<hwy::MakeSigned<V> const*>(index)));
    else
      return hn::GatherIndex(d, x, hn::PromoteTo(wide, hn::LoadU(hn::Rebind<I, D>(), index)));
  }
}

/// The sum of all lanes: halves added to halves.
template <class D>
HWY_INLINE hn::TFromD<D> sum_of(D d, hn::Vec<D> v) {
  if constexpr (sizeof(decltype(hn::Zero(d).raw)) > 16) {
    hn::Half<D> const half;
    return sum_of(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    return hn::GetLane(hn::SumOfLanes(d, v));
  }
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
