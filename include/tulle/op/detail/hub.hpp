// SPDX-License-Identifier: Apache-2.0

/// An operand of any format as csr, for operations that run on csr alone.
#pragma once
#include "tulle/core/limited.hpp"
#include "tulle/view/transposed.hpp"

namespace tulle::detail {

/// Borrows what is csr, converts what is not.
template <class V, class I, class O>
struct hub {
  csr<V, I, O> copy;
  csr_view<V, I, O> view;

  hub(csr_view<V, I, O> const& a, cpu const&) : view(a) {}
  template <class View>
  hub(View const& a, cpu const& where) : copy(a.to_csr(where)), view(copy.view()) {}
};

/// Operands that hub takes: owners and views whose types are known when compiling.
template <class A>
concept hub_operand = view_traits<view_type<A>>::is_view;

template <hub_operand A>
auto hub_of(A const& a, cpu const& where) {
  using view = view_type<A>;
  return hub<typename view::value, typename view::index, typename view::offset>(view_of(a), where);
}

/// What a plan knows of an operand: a hash of its indices and one of where they lie.
struct known_pattern {
  std::uint64_t pattern = 0, place = 0;
};

} // namespace tulle::detail
