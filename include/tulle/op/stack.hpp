// SPDX-License-Identifier: Apache-2.0

/// Matrices side by side, one below the other, and along the diagonal, as csr.
///
///     auto c = tulle::hstack(a, b);             // [A B]
///     auto d = tulle::vstack(a, b, c);          // A over B over C
///     auto e = tulle::block_diagonal(a, b);
///     auto f = tulle::vstack(std::span(views)); // any number of csr_view
///
/// All are of one type. The result is canonical. Operands of other formats go through csr. The
/// first argument may be a policy. The result is the same for every number of threads. There is no
/// device kernel: a policy that names a device is errc::unsupported.
///
/// Workspace: a copy of a result whose rows had to be sorted, bounded by workspace_limit.
///
/// Errors     operands whose rows (hstack) or columns (vstack) differ: shape_mismatch.
#pragma once
#include "tulle/op/detail/canonical_operand.hpp"
#include "tulle/op/detail/hub.hpp"

#include <span>
#include <tuple>

namespace tulle {
namespace detail {

enum class stack_direction : std::uint8_t { right, down, diagonal };

/// src/op/stack.cpp.
template <class V, class I, class O>
csr<V, I, O> stack(where const& w, stack_direction d, std::span<csr_view<V, I, O> const> blocks);

template <class A, class... B>
auto stack_all(char const* op, where const& w, stack_direction d, A const& a, B const&... b) {
  using V = typename view_type<A>::value;
  using I = typename view_type<A>::index;
  using O = typename view_type<A>::offset;
  limited const space(op, w);
  std::tuple const hubs{built_hub_of(a, space.counted()), hub<V, I, O>(b, space.counted())...};
  return std::apply(
      [&](auto const&... h) {
        csr_view<V, I, O> const views[] = {h.view...};
        return stack<V, I, O>(space.rest(w), d, views);
      },
      hubs);
}

} // namespace detail

/// [A B ...]
template <detail::hub_operand A, detail::hub_operand... B>
auto hstack(where const& w, A const& a, B const&... b) {
  return detail::stack_all("hstack", w, detail::stack_direction::right, a, b...);
}
template <detail::hub_operand A, detail::hub_operand... B>
auto hstack(A const& a, B const&... b) {
  return hstack(where{}, a, b...);
}
template <class V, class I, class O>
auto hstack(std::span<csr_view<V, I, O> const> blocks, where const& w = {}) {
  return detail::stack<V, I, O>(w, detail::stack_direction::right, blocks);
}

/// A over B over ...
template <detail::hub_operand A, detail::hub_operand... B>
auto vstack(where const& w, A const& a, B const&... b) {
  return detail::stack_all("vstack", w, detail::stack_direction::down, a, b...);
}
template <detail::hub_operand A, detail::hub_operand... B>
auto vstack(A const& a, B const&... b) {
  return vstack(where{}, a, b...);
}
template <class V, class I, class O>
auto vstack(std::span<csr_view<V, I, O> const> blocks, where const& w = {}) {
  return detail::stack<V, I, O>(w, detail::stack_direction::down, blocks);
}

/// Each block begins where the one before ends, in rows and in columns.
template <detail::hub_operand A, detail::hub_operand... B>
auto block_diagonal(where const& w, A const& a, B const&... b) {
  return detail::stack_all("block_diagonal", w, detail::stack_direction::diagonal, a, b...);
}
template <detail::hub_operand A, detail::hub_operand... B>
auto block_diagonal(A const& a, B const&... b) {
  return block_diagonal(where{}, a, b...);
}
template <class V, class I, class O>
auto block_diagonal(std::span<csr_view<V, I, O> const> blocks, where const& w = {}) {
  return detail::stack<V, I, O>(w, detail::stack_direction::diagonal, blocks);
}

} // namespace tulle
