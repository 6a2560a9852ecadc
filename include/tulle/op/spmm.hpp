// SPDX-License-Identifier: Apache-2.0

/// C = alpha A B + beta C, A sparse, B and C dense.
///
///     auto b = tulle::row_major(b_data, a.cols, 8), c = tulle::row_major(c_data, a.rows, 8);
///     tulle::spmm(1.0, a, b, 0.0, c);                       // where the data is
///     tulle::spmm(tulle::cpu{.threads = 4}, 1.0, a, b, 0.0, c);
///     auto plan = tulle::spmm_plan(a, b, c);                // once per pattern, shape and strides
///     tulle::spmm(plan, 1.0, a, b, 0.0, c);                 // allocates nothing
///
/// A is what spmv takes, and what c holds gives the value type. Products with adjoint(a) and
/// conjugated(a) of complex values take a copy of B as workspace. B and C have any strides;
/// row-major ones are the fastest. They may be columns of one array, but may not overlap, nor may C
/// overlap the arrays of A. beta == 0 does not read C; alpha == 0 reads neither A nor B. Same bits
/// for every number of threads.
#pragma once
#include "tulle/op/spmv.hpp"
#include "tulle/view/dense.hpp"

namespace tulle {

namespace detail {

/// A matrix in the memory of the dense ones, with their value type if it is known.
template <class A, class V, space S>
concept multiplies_dense = built_value<V> &&
    (S == space::host ? matrix<A> : matrix_on_device<A>)&&(std::is_void_v<value_t<A>> ||
                                                           std::is_same_v<value_t<A>, V>);

} // namespace detail

/// What spmm computes once per pattern, shape and strides: the kernel, its partition, its
/// workspace. Formats that have no kernel of their own go column by column through spmv.
class spmm_plan : public plan {
public:
  template <class A, class V, space S>
  requires detail::multiplies_dense<A, V, S>
  spmm_plan(A const& a, std::type_identity_t<dense_view<V const, S>> b, dense_view<V, S> c)
      : spmm_plan(detail::home(a), a, b, c) {}
  template <class A, class V, space S>
  requires detail::multiplies_dense<A, V, S>
  spmm_plan(where const& w, A const& a, std::type_identity_t<dense_view<V const, S>> b,
            dense_view<V, S> c)
      : spmm_plan(
            w, detail::with_operand(detail::view_of(a), [](detail::spmv_operand o) { return o; }),
            b, c) {}
  /// Of operands whose types only run time tells.
  spmm_plan(where const& w, detail::spmv_operand a, detail::dense_ref const& b,
            detail::dense_ref const& c);
  template <matrix_on_device A, class B, class C>
  spmm_plan(cpu const&, A const&, B const&, C const&) = delete;

  /// errc::bad_structure, or errc::shape_mismatch, where a is not of the pattern that the plan was
  /// made for: all indices are read. On a device: if it has other arrays.
  template <matrix_anywhere A>
  void check(A const& a) {
    detail::with_operand(detail::view_of(a), [&](detail::spmv_operand o) { check_operand(o); });
  }
  /// Makes the plan anew, for a, with the policy and the shapes that it has.
  template <matrix_anywhere A>
  void rebind(A const& a) {
    detail::with_operand(detail::view_of(a), [&](detail::spmv_operand o) { rebind_to(o); });
  }

  struct state; // what the kernel sees: src/op/spmm.cpp
  ~spmm_plan();
  spmm_plan(spmm_plan&&) noexcept;
  spmm_plan& operator=(spmm_plan&&) noexcept;
  state& get() const {
    if (!state_)
      fail(errc::bad_structure, "spmm: the plan was moved from");
    return *state_;
  }

  /// Includes the plan of spmv if products go column by column.
  std::size_t bytes() const noexcept;

private:
  void check_operand(detail::spmv_operand a);
  void rebind_to(detail::spmv_operand a);
  state* state_ = nullptr;
};

namespace detail {

/// The entry point of the library: checks, makes a plan if none is given, and runs.
void spmm(spmm_plan* plan, where const& w, value_kind kind, void const* alpha, spmv_operand a,
          dense_ref const& b, void const* beta, dense_ref const& c);

template <class V, space S, class A>
void spmm_typed(spmm_plan* plan, where const& w, V alpha, A const& a, dense_view<V const, S> b,
                V beta, dense_view<V, S> c) {
  auto const view = view_of(a);
  V const factor = scaled_alpha(alpha, view);
  with_operand(view, [&](spmv_operand const& operand) {
    typed_memory("spmm", [&] { spmm(plan, w, kind_of<V>, &factor, operand, b, &beta, c); });
  });
}

} // namespace detail

/// C = alpha A B + beta C, on the policy's backend.
template <class A, class V, space S>
requires detail::multiplies_dense<A, V, S>
void spmm(where const& w, std::type_identity_t<V> alpha, A const& a,
          std::type_identity_t<dense_view<V const, S>> b, std::type_identity_t<V> beta,
          dense_view<V, S> c) {
  detail::spmm_typed<V, S>(nullptr, w, alpha, a, b, beta, c);
}
/// The same where the data is.
template <class A, class V, space S>
requires detail::multiplies_dense<A, V, S>
void spmm(std::type_identity_t<V> alpha, A const& a, std::type_identity_t<dense_view<V const, S>> b,
          std::type_identity_t<V> beta, dense_view<V, S> c) {
  detail::spmm_typed<V, S>(nullptr, detail::home(a), alpha, a, b, beta, c);
}
/// The same with what was planned for a's pattern, and for the shapes and strides of b and c.
template <class A, class V, space S>
requires detail::multiplies_dense<A, V, S>
void spmm(spmm_plan& plan, std::type_identity_t<V> alpha, A const& a,
          std::type_identity_t<dense_view<V const, S>> b, std::type_identity_t<V> beta,
          dense_view<V, S> c) {
  detail::spmm_typed<V, S>(&plan, detail::home(a), alpha, a, b, beta, c);
}
template <matrix_on_device A, class V, class B, class C>
void spmm(cpu const&, V, A const&, B const&, V, C const&) = delete;

} // namespace tulle
