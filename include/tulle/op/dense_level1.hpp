// SPDX-License-Identifier: Apache-2.0

/// Operations on dense vectors: dot, dotc, axpy, norms.
///
///     double d = tulle::dot(x, y);                          // x . y
///     auto c = tulle::dotc(u, v);                           // conj(u) . v
///     tulle::axpy(2.0, x, y);                               // y += 2 x
///     double n = tulle::norm2(tulle::cpu{.threads = 4}, x); // norm1, norm_inf likewise
///
/// A vector is anything with data() and size(): std::vector, std::span, tulle::array, vector_view.
/// The first argument may be a policy. alpha == 0 does not read x. Sums are kept in double, of
/// floats too, in blocks that depend on the length alone: the same bits for every number of
/// threads. Nothing is allocated. A call that fails changes nothing.
///
/// dot does not conjugate, nor does that of sparse vectors (op/level1.hpp); dotc conjugates x.
///
/// Errors     sizes that differ: shape_mismatch. y of axpy that overlaps x; null with a size:
///            bad_structure.
#pragma once
#include "tulle/op/level1.hpp"

#include <concepts>

namespace tulle {

/// A dense vector operand: elements of a built value type, in host memory.
template <class X>
concept dense_vector = requires(X const& x) {
  { x.data() } -> std::convertible_to<element_t<X const&> const*>;
  requires detail::built_value<element_t<X const&>>;
  requires std::is_convertible_v < X const&, vector_view < element_t<X const&>
  const >> ;
};
template <dense_vector X>
using dense_value_t = element_t<X const&>;

namespace detail {

/// The doors into the library: src/op/dense_level1.cpp.
template <class V>
struct dense_level1 {
  static V dot(where const& w, vector_view<V const> x, vector_view<V const> y, dot_options options);
  static void axpy(where const& w, V alpha, vector_view<V const> x, vector_view<V> y);
  static real_t<V> norm1(where const& w, vector_view<V const> x);
  static real_t<V> norm2(where const& w, vector_view<V const> x);
  static real_t<V> norm_inf(where const& w, vector_view<V const> x);
};

template <class X>
using dense_level1_of = dense_level1<dense_value_t<X>>;

} // namespace detail

/// The sum of x_i y_i; with conjugate, of conj(x_i) y_i.
template <dense_vector X, dense_vector Y>
requires std::same_as<dense_value_t<X>, dense_value_t<Y>> dense_value_t<X>
dot(where const& w, X const& x, Y const& y, dot_options options = {}) {
  return detail::dense_level1_of<X>::dot(w, x, y, options);
}
template <dense_vector X, dense_vector Y>
requires std::same_as<dense_value_t<X>, dense_value_t<Y>> dense_value_t<X>
dot(X const& x, Y const& y, dot_options options = {}) {
  return detail::dense_level1_of<X>::dot(where{}, x, y, options);
}

/// The sum of conj(x_i) y_i.
template <dense_vector X, dense_vector Y>
requires std::same_as<dense_value_t<X>, dense_value_t<Y>> dense_value_t<X>
dotc(where const& w, X const& x, Y const& y) {
  return dot(w, x, y, {.conjugate = true});
}
template <dense_vector X, dense_vector Y>
requires std::same_as<dense_value_t<X>, dense_value_t<Y>> dense_value_t<X> dotc(X const& x,
                                                                                Y const& y) {
  return dot(x, y, {.conjugate = true});
}

/// y += alpha x.
template <dense_vector X>
void axpy(where const& w, dense_value_t<X> alpha, X const& x, vector_view<dense_value_t<X>> y) {
  detail::dense_level1_of<X>::axpy(w, alpha, x, y);
}
template <dense_vector X>
void axpy(dense_value_t<X> alpha, X const& x, vector_view<dense_value_t<X>> y) {
  detail::dense_level1_of<X>::axpy(where{}, alpha, x, y);
}

/// The sum of |x_i|, the root of the sum of |x_i|^2, the largest |x_i|; 0 if empty. NaN where an
/// element is NaN. norm2 is right wherever its value is in range, though squares may not be.
template <dense_vector X>
real_t<dense_value_t<X>> norm1(where const& w, X const& x) {
  return detail::dense_level1_of<X>::norm1(w, x);
}
template <dense_vector X>
real_t<dense_value_t<X>> norm1(X const& x) {
  return detail::dense_level1_of<X>::norm1(where{}, x);
}
template <dense_vector X>
real_t<dense_value_t<X>> norm2(where const& w, X const& x) {
  return detail::dense_level1_of<X>::norm2(w, x);
}
template <dense_vector X>
real_t<dense_value_t<X>> norm2(X const& x) {
  return detail::dense_level1_of<X>::norm2(where{}, x);
}
template <dense_vector X>
real_t<dense_value_t<X>> norm_inf(where const& w, X const& x) {
  return detail::dense_level1_of<X>::norm_inf(w, x);
}
template <dense_vector X>
real_t<dense_value_t<X>> norm_inf(X const& x) {
  return detail::dense_level1_of<X>::norm_inf(where{}, x);
}

} // namespace tulle
