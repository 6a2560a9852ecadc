// SPDX-License-Identifier: Apache-2.0

/// op(T) X = alpha B, solved for X: T is a triangle of a square sparse matrix, B and X are dense.
///
///     auto b = tulle::row_major(b_data, n, 8), x = tulle::row_major(x_data, n, 8);
///     tulle::trsm(1.0, l, b, x);                            // the lower triangle of l
///     tulle::trsm(1.0, l, x, x);                            // in place
///     auto plan = tulle::trsm_plan(l, 8);                   // once per pattern
///     tulle::trsm(plan, 1.0, l, b, x);                      // allocates nothing
///
/// T, its views, options and errors are those of trsv. B and X have any strides; row-major ones are
/// the fastest. X and B may be one matrix, with the same strides; they may not overlap otherwise,
/// nor X the arrays of A. Each column has the bits that trsv gives, whatever the number of columns,
/// the method and the number of threads. Matrices on a device are refused.
#pragma once
#include "tulle/op/spmm.hpp"
#include "tulle/op/trsv.hpp"

namespace tulle {

/// A plan of trsv with workspace for several columns. It serves any number of them, and trsv; the
/// one that it is made for is the fastest.
class trsm_plan : public trsv_plan {
public:
  template <matrix A>
  explicit trsm_plan(A const& a, std::size_t columns, trsv_options o = {})
      : trsm_plan(where{}, a, columns, o) {}
  template <matrix A>
  trsm_plan(where const& w, A const& a, std::size_t columns, trsv_options o = {}) {
    detail::with_operand(detail::view_of(a),
                         [&](detail::spmv_operand const& t) { make("trsm", w, t, columns, o); });
  }
};

namespace detail {

template <class V, class A>
void trsm_typed(trsv_plan* plan, where const& w, V alpha, A const& a, dense_view<V const> b,
                dense_view<V> x, trsv_options o = {}) {
  auto const view = view_of(a);
  V const factor = alpha_over_factors("trsm", alpha, view);
  with_operand(view, [&](spmv_operand const& operand) {
    solve_triangle("trsm", plan, w, kind_of<V>, &factor, operand, b, x, o);
  });
}

} // namespace detail

/// Solves op(T) X = alpha B, on the policy's backend. Without a plan by one thread per block
/// of 8 columns.
template <matrix A, class V>
requires detail::multiplies_dense<A, V, space::host>
void trsm(where const& w, std::type_identity_t<V> alpha, A const& a,
          std::type_identity_t<dense_view<V const>> b, dense_view<V> x, trsv_options o = {}) {
  detail::trsm_typed<V>(nullptr, w, alpha, a, b, x, o);
}
/// The same where the data is.
template <matrix A, class V>
requires detail::multiplies_dense<A, V, space::host>
void trsm(std::type_identity_t<V> alpha, A const& a, std::type_identity_t<dense_view<V const>> b,
          dense_view<V> x, trsv_options o = {}) {
  detail::trsm_typed<V>(nullptr, where{}, alpha, a, b, x, o);
}
/// The same with what was planned for a's pattern, and the options of the plan.
template <matrix A, class V>
requires detail::multiplies_dense<A, V, space::host>
void trsm(trsv_plan& plan, std::type_identity_t<V> alpha, A const& a,
          std::type_identity_t<dense_view<V const>> b, dense_view<V> x) {
  detail::trsm_typed<V>(&plan, where{}, alpha, a, b, x);
}

} // namespace tulle
