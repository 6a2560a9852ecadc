// SPDX-License-Identifier: Apache-2.0

/// An operand of any format as csr, for operations that run on csr alone.
#pragma once
#include "tulle/core/limited.hpp"
#include "tulle/view/transposed.hpp"

namespace tulle::detail {

/// Tells set_diagnostics() of an operand that is converted for one call.
void tell_converted(format f) noexcept;

/// Borrows a csr, converts anything else.
template <class V, class I, class O>
struct hub {
  csr<V, I, O> copy;
  csr_view<V, I, O> view;

  hub(csr_view<V, I, O> const& a, cpu const&) : view(a) {}
  hub(csr<V, I, O> const& a, cpu const&) : view(a.view()) {}
  /// Checks what it converts: an owner does so itself, a view may stand on one that was moved from.
  template <class A>
  hub(A const& a, cpu const& where) : copy(converted(a, where)), view(copy.view()) {}

private:
  template <class A>
  static csr<V, I, O> converted(A const& a, cpu const& where) {
    tell_converted(view_traits<view_type<A>>::format);
    if constexpr (view_traits<A>::is_view) {
      policy_threads const here(where.threads);
      a.validate();
    }
    return a.to_csr(where);
  }
};

/// Operands that hub takes: owners and views whose types are known when compiling.
template <class A>
concept hub_operand = view_traits<view_type<A>>::is_view;

template <hub_operand A>
auto hub_of(A const& a, cpu const& where) {
  using view = view_type<A>;
  return hub<typename view::value, typename view::index, typename view::offset>(a, where);
}

/// For operations that the library has for the types that it is built for.
template <hub_operand A>
auto built_hub_of(A const& a, cpu const& where) {
  using view = view_type<A>;
  (void)type_of<typename view::value, typename view::index, typename view::offset>::value;
  return hub_of(a, where);
}

/// What a plan knows of an operand: a hash of its indices, and one of where they lie, whose they
/// are and a few of them.
struct known_pattern {
  std::uint64_t pattern = 0, mark = 0;
};

} // namespace tulle::detail
