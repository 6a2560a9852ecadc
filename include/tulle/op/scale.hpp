// SPDX-License-Identifier: Apache-2.0

/// Multiples of a matrix: s A, D A and A D for a diagonal D.
///
///     tulle::scale(2.0, a);                      // a *= 2
///     tulle::scale_rows(d, a);                   // a = D A: row i times d[i]
///     tulle::scale_columns(a, d);                // a = A D: column j times d[j]
///     auto b = tulle::scaled_rows(d, a);         // D A as a new csr; scaled_columns likewise
///     tulle::scale_rows(d, view, values);        // the values of D A, for arrays of your own
///
/// Values change, the pattern stays: what was made for it (plans, other formats by refill) is still
/// good. What is scaled in place is a csr, or the values of a view, which lie in the caller's
/// memory. A new matrix is made of any format, through csr; its entries are in the order of A's.
/// `scale(0, a)` does not read A's values. D is data: a zero times NaN is NaN.
///
/// The first argument may be a policy. Same bits for every number of threads. There is no device
/// kernel: a policy that names a device is errc::unsupported. Nothing is allocated in place.
///
/// Errors     d of another size than A has rows (columns): shape_mismatch. d or values that overlap
///            what they must not, or null with a size: bad_structure. Nothing is written then.
#pragma once
#include "tulle/op/dense_level1.hpp"
#include "tulle/op/detail/canonical_operand.hpp"
#include "tulle/op/detail/hub.hpp"

namespace tulle {
namespace detail {

/// Which side of A the diagonal is on.
enum class diagonal_side : std::uint8_t { left, right };

/// src/op/scale.cpp. Writes the values of D A or A D to `to`, which may be those of A.
template <class V>
void scale(where const& w, V factor, vector_view<V> val);
template <class V, class I, class O>
void scale_by_diagonal(where const& w, diagonal_side side, vector_view<V const> d,
                       csr_view<V, I, O> a, vector_view<V> to);
template <class V, class I, class O>
csr<V, I, O> scaled_by_diagonal(where const& w, diagonal_side side, vector_view<V const> d,
                                csr_view<V, I, O> a);

template <class V, class I, class O>
void scale_by_diagonal(where const& w, diagonal_side side, vector_view<V const> d,
                       csr<V, I, O>& a) {
  scale_by_diagonal(w, side, d, a.view(), vector_view<V>(a.val));
}

} // namespace detail

/// Every value times `factor`: of a csr, or of the values themselves.
template <class V, class I, class O>
void scale(where const& w, std::type_identity_t<V> factor, csr<V, I, O>& a) {
  detail::scale<V>(w, factor, a.val);
}
template <class V, class I, class O>
void scale(std::type_identity_t<V> factor, csr<V, I, O>& a) {
  scale(where{}, factor, a);
}
template <dense_vector X>
void scale(where const& w, dense_value_t<X> factor, X&& values) {
  detail::scale<dense_value_t<X>>(w, factor, values);
}
template <dense_vector X>
void scale(dense_value_t<X> factor, X&& values) {
  detail::scale<dense_value_t<X>>(where{}, factor, values);
}

/// D A. The last form writes its values in the order of A's entries; `values` may be those of A.
template <class V, class I, class O>
void scale_rows(where const& w, vector_view<std::type_identity_t<V> const> d, csr<V, I, O>& a) {
  detail::scale_by_diagonal(w, detail::diagonal_side::left, d, a);
}
template <class V, class I, class O>
void scale_rows(vector_view<std::type_identity_t<V> const> d, csr<V, I, O>& a) {
  scale_rows(where{}, d, a);
}
template <class V, class I, class O>
void scale_rows(where const& w, vector_view<std::type_identity_t<V> const> d, csr_view<V, I, O> a,
                vector_view<std::type_identity_t<V>> values) {
  detail::scale_by_diagonal<V, I, O>(w, detail::diagonal_side::left, d, a, values);
}
template <class V, class I, class O>
void scale_rows(vector_view<std::type_identity_t<V> const> d, csr_view<V, I, O> a,
                vector_view<std::type_identity_t<V>> values) {
  scale_rows(where{}, d, a, values);
}

/// A D.
template <class V, class I, class O>
void scale_columns(where const& w, csr<V, I, O>& a, vector_view<std::type_identity_t<V> const> d) {
  detail::scale_by_diagonal(w, detail::diagonal_side::right, d, a);
}
template <class V, class I, class O>
void scale_columns(csr<V, I, O>& a, vector_view<std::type_identity_t<V> const> d) {
  scale_columns(where{}, a, d);
}
template <class V, class I, class O>
void scale_columns(where const& w, csr_view<V, I, O> a,
                   vector_view<std::type_identity_t<V> const> d,
                   vector_view<std::type_identity_t<V>> values) {
  detail::scale_by_diagonal<V, I, O>(w, detail::diagonal_side::right, d, a, values);
}
template <class V, class I, class O>
void scale_columns(csr_view<V, I, O> a, vector_view<std::type_identity_t<V> const> d,
                   vector_view<std::type_identity_t<V>> values) {
  scale_columns(where{}, a, d, values);
}

/// D A and A D as new matrices.
template <detail::hub_operand A>
auto scaled_rows(where const& w, vector_view<value_t<A> const> d, A const& a) {
  detail::limited const space("scaled_rows", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  return detail::scaled_by_diagonal(w, detail::diagonal_side::left, d, of_a.view);
}
template <detail::hub_operand A>
auto scaled_rows(vector_view<value_t<A> const> d, A const& a) {
  return scaled_rows(where{}, d, a);
}
template <detail::hub_operand A>
auto scaled_columns(where const& w, A const& a, vector_view<value_t<A> const> d) {
  detail::limited const space("scaled_columns", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  return detail::scaled_by_diagonal(w, detail::diagonal_side::right, d, of_a.view);
}
template <detail::hub_operand A>
auto scaled_columns(A const& a, vector_view<value_t<A> const> d) {
  return scaled_columns(where{}, a, d);
}

} // namespace tulle
