// SPDX-License-Identifier: Apache-2.0

/// Dense times dense at the places of a sparse matrix: C = alpha (A B) .* spy(C) + beta C.
///
///     tulle::sddmm(1.0, a, b, 0.0, c);                          // into the values of a csr
///     tulle::sddmm(1.0, a, b, 0.5, view, values);               // of a view, into your array
///     auto d = tulle::sddmm(1.0, a, b, s);                      // a new csr with the places of S
///     auto e = tulle::sddmm(1.0, a, b, s, {.times_values = true}); // (A B) .* S
///
/// A is m x k, B is k x n, both dense_view of any strides: A by rows and B by columns is fastest;
/// a transpose is a view with strides exchanged. spy(C) is 1 at the entries of C, so the pattern
/// stays, and plans made for it stay good. alpha == 0 does not read A and B, beta == 0 not the
/// values of C. Duplicates mean their sum: the product is added at the first of them. A new csr is
/// canonical.
///
/// The first argument may be a policy. Same bits for every number of threads and all strides. There
/// is no device kernel: a policy that names a device is errc::unsupported.
///
/// Workspace: a copy of an A or B that has gaps along k, if it fits workspace_limit and there are
/// enough entries to use it; one byte per entry and one index per column and thread if C has
/// unsorted rows or duplicates.
///
/// Errors     sizes that do not fit each other: shape_mismatch. A, B or C null with a size, or
///            values that overlap what is read: bad_structure. C is as before then.
#pragma once
#include "tulle/op/detail/canonical_operand.hpp"
#include "tulle/op/detail/hub.hpp"
#include "tulle/view/dense.hpp"

namespace tulle {

struct sddmm_options {
  bool times_values = false; ///< (A B) .* S instead of (A B) .* spy(S)
};

namespace detail {

/// src/op/sddmm.cpp. Writes the values of C to `to`, which may be those of C.
template <class V, class I, class O>
void sddmm(where const& w, V alpha, dense_view<V const> a, dense_view<V const> b, V beta,
           csr_view<V, I, O> c, vector_view<V> to);
template <class V, class I, class O>
csr<V, I, O> sddmm(where const& w, V alpha, dense_view<V const> a, dense_view<V const> b,
                   csr_view<V, I, O> s, sddmm_options o);

} // namespace detail

/// Into the values of C.
template <class V, class I, class O>
void sddmm(where const& w, std::type_identity_t<V> alpha,
           std::type_identity_t<dense_view<V const>> a, std::type_identity_t<dense_view<V const>> b,
           std::type_identity_t<V> beta, csr<V, I, O>& c) {
  detail::sddmm<V, I, O>(w, alpha, a, b, beta, c.view(), c.val);
}
template <class V, class I, class O>
void sddmm(std::type_identity_t<V> alpha, std::type_identity_t<dense_view<V const>> a,
           std::type_identity_t<dense_view<V const>> b, std::type_identity_t<V> beta,
           csr<V, I, O>& c) {
  sddmm(where{}, alpha, a, b, beta, c);
}

/// Into `values`, in the order of C's entries; they may be those of C.
template <class V, class I, class O>
void sddmm(where const& w, std::type_identity_t<V> alpha,
           std::type_identity_t<dense_view<V const>> a, std::type_identity_t<dense_view<V const>> b,
           std::type_identity_t<V> beta, csr_view<V, I, O> c,
           vector_view<std::type_identity_t<V>> values) {
  detail::sddmm<V, I, O>(w, alpha, a, b, beta, c, values);
}
template <class V, class I, class O>
void sddmm(std::type_identity_t<V> alpha, std::type_identity_t<dense_view<V const>> a,
           std::type_identity_t<dense_view<V const>> b, std::type_identity_t<V> beta,
           csr_view<V, I, O> c, vector_view<std::type_identity_t<V>> values) {
  sddmm(where{}, alpha, a, b, beta, c, values);
}

/// A new csr with the places of S.
template <detail::hub_operand S>
auto sddmm(where const& w, value_t<S> alpha, dense_view<value_t<S> const> a,
           dense_view<value_t<S> const> b, S const& s, sddmm_options o = {}) {
  detail::limited const space("sddmm", w);
  auto const of_s = detail::built_hub_of(s, space.counted());
  return detail::sddmm(space.rest(w), alpha, a, b, of_s.view, o);
}
template <detail::hub_operand S>
auto sddmm(value_t<S> alpha, dense_view<value_t<S> const> a, dense_view<value_t<S> const> b,
           S const& s, sddmm_options o = {}) {
  return sddmm(where{}, alpha, a, b, s, o);
}

} // namespace tulle
