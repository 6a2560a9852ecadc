// SPDX-License-Identifier: Apache-2.0

/// Norms of a matrix.
///
///     double n = tulle::norm(a, tulle::norm_kind::frobenius); // the root of the sum of |a_ij|^2
///     double m = tulle::norm(a, tulle::norm_kind::inf);       // the largest row sum of |a_ij|
///     double s = tulle::norm(a, tulle::norm_kind::one);       // the largest column sum
///     double e = tulle::norm(a, tulle::norm_kind::max);       // the largest |a_ij|
///
/// 0 for a matrix without entries, NaN where an entry is NaN. Sums are kept in double, of floats
/// too; the Frobenius norm is right wherever its value is in range, though squares may not be.
/// Duplicates count with their sum. An operand of another format goes through csr. The first
/// argument may be a policy. Same bits for every number of threads. There is no device kernel: a
/// policy that names a device is errc::unsupported.
///
/// Workspace: up to eight doubles per column for `one`, and a copy of an operand whose rows are
/// unsorted or have duplicates. workspace_limit bounds both.
#pragma once
#include "tulle/op/dense_level1.hpp"
#include "tulle/op/detail/canonical_operand.hpp"
#include "tulle/op/detail/hub.hpp"

namespace tulle {

enum class norm_kind : std::uint8_t { one, inf, frobenius, max };

namespace detail {
/// src/op/norm.cpp.
template <class V, class I, class O>
real_t<V> norm(where const& w, csr_view<V, I, O> a, norm_kind kind);
} // namespace detail

template <detail::hub_operand A>
real_t<value_t<A>> norm(where const& w, A const& a, norm_kind kind) {
  detail::limited const space("norm", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  return detail::norm(space.rest(w), of_a.view, kind);
}
template <detail::hub_operand A>
real_t<value_t<A>> norm(A const& a, norm_kind kind) {
  return norm(where{}, a, kind);
}

} // namespace tulle
