// SPDX-License-Identifier: Apache-2.0

/// A A^T, or only its upper half, from which the rest follows by symmetry.
///
///     auto c = tulle::spgemm_aat(a);                         // spgemm(a, transpose(a))
///     auto u = tulle::spgemm_aat(a, {.upper_only = true});   // from the diagonal to the right
///
/// The half has the bits of the whole, in half the memory and with half the products. Workspace:
/// A^T, and for the half one offset per entry of A. On a device the whole product is made first,
/// and the half is copied from it.
#pragma once
#include "tulle/op/spgemm.hpp"

namespace tulle {

struct aat_options {
  bool upper_only = false;
  spgemm_method method = spgemm_method::automatic; ///< of a half any but global_esc
};

namespace detail {
template <class V, class I, class O>
csr<V, I, O> spgemm_aat(where const& w, csr_view<V, I, O> a, aat_options o, std::size_t taken);
device_matrix spgemm_aat(device const& where, matrix_ref const& a, aat_options o);
} // namespace detail

template <detail::hub_operand A>
auto spgemm_aat(where const& w, A const& a, aat_options o = {}) {
  detail::limited const space("spgemm_aat", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  return detail::spgemm_aat(w, of_a.view, o, space.taken());
}
/// The same where the data is.
template <detail::hub_operand A>
auto spgemm_aat(A const& a, aat_options o = {}) {
  return spgemm_aat(where{}, a, o);
}

/// On a device; waits for it.
template <detail::plain_matrix_on_device A>
device_matrix spgemm_aat(device const& where, A const& a, aat_options o = {}) {
  return detail::with_matrix(
      a, [&](matrix_ref const& of_a) { return detail::spgemm_aat(where, of_a, o); });
}
template <detail::plain_matrix_on_device A>
device_matrix spgemm_aat(A const& a, aat_options o = {}) {
  return spgemm_aat(detail::home(a).as_device(), a, o);
}

} // namespace tulle
