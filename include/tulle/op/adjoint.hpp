// SPDX-License-Identifier: Apache-2.0

/// y = alpha A^H x + beta y, and C = alpha A^H B + beta C.
///
///     tulle::spmv(1.0, tulle::adjoint(a), x, 0.0, y);
///     auto plan = tulle::spmv_plan(tulle::transposed(a));          // the plan of both
///     tulle::spmv(plan, 1.0, tulle::adjoint(a), x, 0.0, y);
///
/// Where A is real this is the product with transposed(a). Where it is complex, A^H x is
/// conj(A^T conj(x)): this takes a copy of x or B as workspace, also with a plan, and y or C is
/// conjugated in place before and after. On a device all of that is put on the stream.
#pragma once
#include "tulle/op/spmm.hpp"

namespace tulle {
namespace detail {

/// The doors into the library. `a` is the transpose already.
void spmv_adjoint(spmv_plan* plan, where const& w, value_kind kind, void const* alpha,
                  spmv_operand a, void const* x, std::size_t x_size, void const* beta, void* y,
                  std::size_t y_size, spmv_options o);
void spmm_adjoint(where const& w, value_kind kind, void const* alpha, spmv_operand a,
                  dense_ref const& b, void const* beta, dense_ref const& c);

template <class V, class View>
V adjoint_factor(adjoint_view<View> const& a) {
  if constexpr (std::is_floating_point_v<V>)
    return factor_of<V>(a.base);
  else
    return std::conj(factor_of<V>(a.base));
}

template <class V, space S, class View>
void spmv_adjoint_typed(spmv_plan* plan, where const& w, V alpha, adjoint_view<View> const& a,
                        std::type_identity_t<vector_view<V const, S>> x, V beta,
                        std::type_identity_t<vector_view<V, S>> y, spmv_options o = {}) {
  V const scaled_alpha = alpha * adjoint_factor<V>(a);
  with_operand(
      a.base,
      [&](spmv_operand operand) {
        spmv_adjoint(plan, w, kind_of<V>, &scaled_alpha, operand, x.data(), x.size(), &beta,
                     y.data(), y.size(), o);
      },
      true);
}

/// An adjoint whose values are V as far as is known, and which is in that space.
template <class View, class V, space S>
concept adjoint_of = (S == space::host ? is_operand<View> : is_device_operand<View>)&&(
    std::is_void_v<typename value_of<View>::type> ||
    std::is_same_v<typename value_of<View>::type, V>);

/// The space of an output.
template <class Y>
inline constexpr space space_of_output = space_of_container<std::remove_cvref_t<Y>>;

} // namespace detail

/// On the policy's backend.
template <class View, class X, class Y>
requires detail::adjoint_of<View, element_t<Y>, detail::space_of_output<Y>>
void spmv(where const& w, element_t<Y> alpha, adjoint_view<View> const& a, X const& x,
          element_t<Y> beta, Y&& y, spmv_options o = {}) {
  detail::spmv_adjoint_typed<element_t<Y>, detail::space_of_output<Y>>(nullptr, w, alpha, a, x,
                                                                       beta, y, o);
}
/// The same where the data is.
template <class View, class X, class Y>
requires detail::adjoint_of<View, element_t<Y>, detail::space_of_output<Y>>
void spmv(element_t<Y> alpha, adjoint_view<View> const& a, X const& x, element_t<Y> beta, Y&& y,
          spmv_options o = {}) {
  detail::spmv_adjoint_typed<element_t<Y>, detail::space_of_output<Y>>(
      nullptr, detail::home_of(a.base), alpha, a, x, beta, y, o);
}
/// The same with what was planned for transposed(a).
template <class View, class X, class Y>
requires detail::adjoint_of<View, element_t<Y>, detail::space_of_output<Y>>
void spmv(spmv_plan& plan, element_t<Y> alpha, adjoint_view<View> const& a, X const& x,
          element_t<Y> beta, Y&& y) {
  detail::spmv_adjoint_typed<element_t<Y>, detail::space_of_output<Y>>(
      &plan, detail::home_of(a.base), alpha, a, x, beta, y);
}

/// C = alpha A^H B + beta C, on the policy's backend.
template <class View, class V, space S>
requires detail::adjoint_of<View, V, S>
void spmm(where const& w, std::type_identity_t<V> alpha, adjoint_view<View> const& a,
          std::type_identity_t<dense_view<V const, S>> b, std::type_identity_t<V> beta,
          dense_view<V, S> c) {
  V const scaled_alpha = alpha * detail::adjoint_factor<V>(a);
  detail::with_operand(
      a.base,
      [&](detail::spmv_operand operand) {
        detail::spmm_adjoint(w, detail::kind_of<V>, &scaled_alpha, operand, b, &beta, c);
      },
      true);
}
/// The same where the data is.
template <class View, class V, space S>
requires detail::adjoint_of<View, V, S>
void spmm(std::type_identity_t<V> alpha, adjoint_view<View> const& a,
          std::type_identity_t<dense_view<V const, S>> b, std::type_identity_t<V> beta,
          dense_view<V, S> c) {
  spmm(detail::home_of(a.base), alpha, a, b, beta, c);
}

} // namespace tulle
