// SPDX-License-Identifier: Apache-2.0

/// The Kronecker product: every entry of A times the matrix B.
///
///     auto c = tulle::kron(a, b); // C(i p + k, j q + l) = A(i, j) B(k, l), B is p x q
///
/// C is canonical; it has as many entries as A and B have together multiplied, zeros stored.
/// Duplicates are added up first. Operands of other formats go through csr. The first argument may
/// be a policy. Same bits for every number of threads. There is no device kernel: a policy that
/// names a device is errc::unsupported. Sizes that do not fit the types are errc::overflow.
///
/// Workspace: a copy of an operand whose rows are unsorted or have duplicates, bounded by
/// workspace_limit.
#pragma once
#include "tulle/op/detail/canonical_operand.hpp"
#include "tulle/op/detail/hub.hpp"

namespace tulle {
namespace detail {
/// src/op/kron.cpp.
template <class V, class I, class O>
csr<V, I, O> kron(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b);
} // namespace detail

template <detail::hub_operand A, detail::hub_operand B>
auto kron(where const& w, A const& a, B const& b) {
  detail::limited const space("kron", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  auto const of_b = detail::built_hub_of(b, space.counted());
  return detail::kron(space.rest(w), of_a.view, of_b.view);
}
template <detail::hub_operand A, detail::hub_operand B>
auto kron(A const& a, B const& b) {
  return kron(where{}, a, b);
}

} // namespace tulle
