// SPDX-License-Identifier: Apache-2.0

// Dense vectors, by the blocks that solvers use too. Memory decides: 16 bytes are read for each
// pair of doubles, and the loops keep up with it on one thread each, so this file is compiled once,
// for all instruction sets.
#include "tulle/op/dense_level1.hpp"

#include "op/dot_row.hpp"
#include "op/sparse_operands.hpp"
#include "op/vector_blocks.hpp"
#include "reference/dense_level1.hpp"

namespace tulle::detail {
namespace {

using kernels::reference::modulus;

constexpr std::size_t grain = 1 << 15; // elements that a thread is started for

vector_blocks blocks_of(std::size_t n, where const& w) {
  return {n, parts_for(n, w.threads, grain)};
}

/// A std::complex<double> that an array of does not initialise.
struct complex_sum {
  double re;
  double im;

  complex_sum() = default;
  complex_sum(std::complex<double> z) : re(z.real()), im(z.imag()) {}
  complex_sum& operator+=(complex_sum const& other) {
    re += other.re;
    im += other.im;
    return *this;
  }
  operator std::complex<double>() const { return {re, im}; }
};
template <class V>
using sum_t = std::conditional_t<std::is_same_v<wide_t<V>, double>, double, complex_sum>;

template <class V>
void check_vector(char const* op, char const* who, vector_view<V> x) {
  if (x.size() != 0 && x.data() == nullptr)
    fail(errc::bad_structure, "%s: %s is null but has %zu entries", op, who, x.size());
}
template <class V>
void check_vectors(char const* op, vector_view<V const> x, V const* y, std::size_t y_size) {
  if (x.size() != y_size)
    fail(errc::shape_mismatch, "%s: x has %zu entries but y has %zu", op, x.size(), y_size);
  check_vector(op, "x", x);
  check_vector(op, "y", vector_view<V const>(y, y_size));
}

template <bool conjugate, class V>
V dot_blocks(V const* x, V const* y, vector_blocks const& all) {
  wide_t<V> const sum = all.sum<sum_t<V>>([=](std::size_t first, std::size_t n) {
    return sum_t<V>(sum_lanes<wide_t<V>>(
        n, [=](std::size_t i) { return product<conjugate>(x[first + i], y[first + i]); }));
  });
  return static_cast<V>(sum);
}

template <class V>
real_t<V> largest(V const* x, vector_blocks const& all) {
  using R = real_t<V>;
  return all.join(
      R(0),
      [=](std::size_t first, std::size_t n) {
        R most = 0;
        for (std::size_t i = first; i < first + n; ++i)
          most = greater_or_nan(most, modulus(x[i]));
        return most;
      },
      greater_or_nan<R>);
}

// The sum of (scale |x_i|)^2.
template <class V>
double sum_of_squares(V const* x, double scale, vector_blocks const& all) {
  return all.sum<double>([=](std::size_t first, std::size_t n) {
    return sum_lanes<double>(
        n, [=](std::size_t i) { return std::norm(wide_t<V>(x[first + i]) * scale); });
  });
}

} // namespace

template <class V>
V dense_level1<V>::dot(where const& w, vector_view<V const> x, vector_view<V const> y,
                       dot_options options) {
  check_vectors("dot", x, y.data(), y.size());
  if (by_reference("dot", w))
    return kernels::reference::dot(x.data(), y.data(), x.size(), options.conjugate);
  vector_blocks const all = blocks_of(x.size(), w);
  return options.conjugate ? dot_blocks<true>(x.data(), y.data(), all)
                           : dot_blocks<false>(x.data(), y.data(), all);
}

template <class V>
void dense_level1<V>::axpy(where const& w, V alpha, vector_view<V const> x, vector_view<V> y) {
  V const* const from = x.data();
  V* const to = y.data();
  check_vectors("axpy", x, static_cast<V const*>(to), y.size());
  if (x.size() != 0 && overlap(from, x.size() * sizeof(V), to, y.size() * sizeof(V)))
    fail(errc::bad_structure, "axpy: x and y overlap");
  if (by_reference("axpy", w))
    return kernels::reference::axpy(alpha, from, to, x.size());
  if (alpha == V(0))
    return;
  blocks_of(x.size(), w).each([=](std::size_t first, std::size_t n) {
    for (std::size_t i = first; i < first + n; ++i)
      to[i] += alpha * from[i];
  });
}

template <class V>
real_t<V> dense_level1<V>::norm1(where const& w, vector_view<V const> x) {
  check_vector("norm1", "x", x);
  V const* const from = x.data();
  if (by_reference("norm1", w))
    return kernels::reference::norm1(kernels::reference::all_of(from, x.size()));
  double const sum =
      blocks_of(x.size(), w).template sum<double>([=](std::size_t first, std::size_t n) {
        return sum_lanes<double>(
            n, [=](std::size_t i) { return static_cast<double>(modulus(from[first + i])); });
      });
  return static_cast<real_t<V>>(sum);
}

template <class V>
real_t<V> dense_level1<V>::norm2(where const& w, vector_view<V const> x) {
  check_vector("norm2", "x", x);
  V const* const from = x.data();
  if (by_reference("norm2", w))
    return kernels::reference::norm2(kernels::reference::all_of(from, x.size()));
  vector_blocks const all = blocks_of(x.size(), w);
  return static_cast<real_t<V>>(
      norm2_of([&](double scale) { return sum_of_squares(from, scale, all); },
               [&] { return largest(from, all); }));
}

template <class V>
real_t<V> dense_level1<V>::norm_inf(where const& w, vector_view<V const> x) {
  check_vector("norm_inf", "x", x);
  if (by_reference("norm_inf", w))
    return kernels::reference::norm_inf(kernels::reference::all_of(x.data(), x.size()));
  return largest(x.data(), blocks_of(x.size(), w));
}

template struct dense_level1<float>;
template struct dense_level1<double>;
template struct dense_level1<std::complex<float>>;
template struct dense_level1<std::complex<double>>;

} // namespace tulle::detail
