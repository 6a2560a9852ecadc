// SPDX-License-Identifier: Apache-2.0

/// y = alpha A x + beta y.
///
///     tulle::spmv(1.0, a, x, 0.0, y);                       // where the data is
///     tulle::spmv(tulle::cpu{.threads = 4}, 1.0, a, x, 0.0, y);
///     auto plan = tulle::spmv_plan(a);                      // once per pattern
///     tulle::spmv(plan, 1.0, a, x, 0.0, y);                 // allocates nothing
///     tulle::spmv(1.0, a, x, 0.0, y, {.method = tulle::spmv_method::merge});
///
/// A is an owner, a view, any_matrix, or a view of these: transposed(a), adjoint(a), conjugated(a),
/// scaled(a, s), also on one another. x and y may not overlap each other, nor y the arrays of A.
/// beta == 0 does not read y; alpha == 0 reads neither A nor x. Same bits for every number of
/// threads.
///
/// Where values are complex, A^H x is conj(A^T conj(x)): adjoint(a) and conjugated(a) take a copy
/// of x as workspace, and y is conjugated in place before and after. The sums are rounded as those
/// of the product without conjugation. A plan of adjoint(a) keeps the copy's memory, and serves
/// transposed(a) too; one of transposed(a) serves adjoint(a), which then allocates in each call.
/// Where values are real, they are transposed(a) and a.
#pragma once
#include "tulle/core/plan.hpp"
#include "tulle/core/value_kind.hpp"
#include "tulle/op/detail/operand.hpp"
#include "tulle/op/spmv_method.hpp"
#include "tulle/view/vector.hpp"

#include <cstdint>
#include <span>

namespace tulle {

/// The methods of a format besides automatic; empty if there is only one.
std::span<spmv_method const> spmv_methods(format f) noexcept;

/// What spmv computes once per pattern: the kernel, its partition, its workspace. Any matrix of the
/// same format, type and pattern may be multiplied with it. Each call compares the addresses of the
/// arrays, the owner's serial number and a few indices. If these are new and the kernel relies on
/// the pattern, all indices are compared by a hash, once, and another pattern is an error. check()
/// compares all of them now; only it finds every change of indices in place.
class spmv_plan : public plan {
public:
  template <matrix_anywhere A>
  explicit spmv_plan(A const& a, spmv_options o = {}) : spmv_plan(detail::home(a), a, o) {}
  template <matrix_anywhere A>
  spmv_plan(where const& w, A const& a, spmv_options o = {});
  template <matrix_on_device A>
  spmv_plan(cpu const&, A const&, spmv_options = {}) = delete;
  /// Of an operand whose types only run time tells.
  spmv_plan(where const& w, detail::spmv_operand a, spmv_options o = {}) { make(w, a, o); }

  /// errc::bad_structure, or errc::shape_mismatch, where a is not of the pattern that the plan was
  /// made for: all indices are read. On a device: if it has other arrays.
  template <matrix_anywhere A>
  void check(A const& a) {
    detail::with_operand(detail::view_of(a),
                         [&](detail::spmv_operand const& o) { check_operand(o); });
  }
  /// Makes the plan anew, for a, with the policy and the options that it has.
  template <matrix_anywhere A>
  void rebind(A const& a) {
    detail::with_operand(detail::view_of(a), [&](detail::spmv_operand const& o) { rebind_to(o); });
  }

  struct state; // what the kernel sees: src/kernel/spmv.hpp
  ~spmv_plan();
  spmv_plan(spmv_plan&&) noexcept;
  spmv_plan& operator=(spmv_plan&&) noexcept;
  state& get() const {
    if (!state_)
      fail(errc::bad_structure, "spmv: the plan was moved from");
    return *state_;
  }

private:
  void make(where const& w, detail::spmv_operand a, spmv_options o);
  void check_operand(detail::spmv_operand a);
  void rebind_to(detail::spmv_operand a);
  state* state_ = nullptr;
};

namespace detail {

/// A value type of types.def; an int or a long double must not pass for one of its size.
template <class V>
concept built_value = std::is_same_v<V, float> || std::is_same_v<V, double> ||
    std::is_same_v<V, std::complex<float>> || std::is_same_v<V, std::complex<double>>;
template <class V>
constexpr value_kind built_kind() {
  static_assert(built_value<V>, "tulle is not built for this value type; it is for float, double, "
                                "std::complex<float> and std::complex<double>");
  return std::is_same_v<V, float>                 ? value_kind::f32
         : std::is_same_v<V, double>              ? value_kind::f64
         : std::is_same_v<V, std::complex<float>> ? value_kind::c32
                                                  : value_kind::c64;
}
template <class V>
inline constexpr value_kind kind_of = built_kind<V>();

/// The entry point of the library: checks, makes a plan if none is given, and runs.
void spmv(spmv_plan* plan, where const& w, value_kind kind, void const* alpha,
          spmv_operand const& a, void const* x, std::size_t x_size, void const* beta, void* y,
          std::size_t y_size, spmv_options o = {});

/// The product of the factors of all scaled() around a matrix.
template <class V, class View>
V factor_of(View const& a) {
  if constexpr (is_wrapper<View> && requires { a.factor; })
    return a.factor * factor_of<V>(a.base);
  else if constexpr (wrapping_of<View>.conjugates && !std::is_floating_point_v<V>)
    return std::conj(factor_of<V>(a.base));
  else if constexpr (is_wrapper<View>)
    return factor_of<V>(a.base);
  else
    return V(1);
}

/// alpha times the factors of all scaled() around a matrix, which an alpha of zero does not read.
template <class V, class View>
V scaled_alpha(V alpha, View const& a) {
  return alpha == V(0) ? alpha : alpha * factor_of<V>(a);
}

/// The space of y, which must be a device's.
template <class Y>
inline constexpr space space_there = [] {
  constexpr space s = space_of_container<std::remove_cvref_t<Y>>;
  static_assert(s != space::host, "A is on a device, and so must x and y be: see device_array");
  return s;
}();

template <class V, space S = space::host, class A>
void spmv_typed(spmv_plan* plan, where const& w, V alpha, A const& a,
                std::type_identity_t<vector_view<V const, S>> x, V beta,
                std::type_identity_t<vector_view<V, S>> y, spmv_options o = {}) {
  auto const view = view_of(a);
  V const factor = scaled_alpha(alpha, view);
  with_operand(view, [&](spmv_operand const& operand) {
    typed_memory("spmv", [&] {
      if (operand.matrix.space != S)
        fail(errc::unsupported, "spmv: A is in %s memory, x and y are in %s memory",
             name(operand.matrix.space), name(S));
      spmv(plan, w, kind_of<V>, &factor, operand, x.data(), x.size(), &beta, y.data(), y.size(), o);
    });
  });
}

} // namespace detail

template <matrix_anywhere A>
spmv_plan::spmv_plan(where const& w, A const& a, spmv_options o) {
  detail::with_operand(detail::view_of(a), [&](detail::spmv_operand const& operand) {
    detail::typed_memory("spmv", [&] { make(w, operand, o); });
  });
}

/// y = alpha A x + beta y, on the policy's backend.
template <typed_matrix A>
void spmv(where const& w, value_t<A> alpha, A const& a, vector_view<value_t<A> const> x,
          value_t<A> beta, vector_view<value_t<A>> y, spmv_options o = {}) {
  detail::spmv_typed<value_t<A>>(nullptr, w, alpha, a, x, beta, y, o);
}
/// The same where the data is.
template <typed_matrix A>
void spmv(value_t<A> alpha, A const& a, vector_view<value_t<A> const> x, value_t<A> beta,
          vector_view<value_t<A>> y, spmv_options o = {}) {
  detail::spmv_typed<value_t<A>>(nullptr, where{}, alpha, a, x, beta, y, o);
}
/// The same with what was planned for a's pattern.
template <typed_matrix A>
void spmv(spmv_plan& plan, value_t<A> alpha, A const& a, vector_view<value_t<A> const> x,
          value_t<A> beta, vector_view<value_t<A>> y) {
  detail::spmv_typed<value_t<A>>(&plan, where{}, alpha, a, x, beta, y);
}

/// For matrices whose type is known only at run time; y's elements give the value type.
template <class Y>
using element_t = std::remove_cvref_t<decltype(*std::declval<Y&>().data())>;

template <matrix A, class X, class Y>
requires(!typed_matrix<A>) void spmv(where const& w, element_t<Y> alpha, A const& a, X const& x,
                                     element_t<Y> beta, Y&& y, spmv_options o = {}) {
  detail::spmv_typed<element_t<Y>>(nullptr, w, alpha, a, x, beta, y, o);
}
template <matrix A, class X, class Y>
requires(!typed_matrix<A>) void spmv(element_t<Y> alpha, A const& a, X const& x, element_t<Y> beta,
                                     Y&& y, spmv_options o = {}) {
  detail::spmv_typed<element_t<Y>>(nullptr, where{}, alpha, a, x, beta, y, o);
}
template <matrix A, class X, class Y>
requires(!typed_matrix<A>) void spmv(spmv_plan& plan, element_t<Y> alpha, A const& a, X const& x,
                                     element_t<Y> beta, Y&& y) {
  detail::spmv_typed<element_t<Y>>(&plan, where{}, alpha, a, x, beta, y);
}

/// On a device: matrix and vectors are there, the work is put on the policy's stream. The kernel
/// relies on the arrays it was planned for: a matrix at another address needs a plan of its own.
template <matrix_on_device A, class X, class Y>
void spmv(where const& w, element_t<Y> alpha, A const& a, X const& x, element_t<Y> beta, Y&& y,
          spmv_options o = {}) {
  detail::spmv_typed<element_t<Y>, detail::space_there<Y>>(nullptr, w, alpha, a, x, beta, y, o);
}
template <matrix_on_device A, class X, class Y>
void spmv(element_t<Y> alpha, A const& a, X const& x, element_t<Y> beta, Y&& y,
          spmv_options o = {}) {
  detail::spmv_typed<element_t<Y>, detail::space_there<Y>>(nullptr, detail::home(a), alpha, a, x,
                                                           beta, y, o);
}
template <matrix_on_device A, class X, class Y>
void spmv(spmv_plan& plan, element_t<Y> alpha, A const& a, X const& x, element_t<Y> beta, Y&& y) {
  detail::spmv_typed<element_t<Y>, detail::space_there<Y>>(&plan, where{}, alpha, a, x, beta, y);
}
template <matrix_on_device A, class X, class Y>
void spmv(cpu const&, element_t<Y>, A const&, X const&, element_t<Y>, Y&&,
          spmv_options = {}) = delete;

} // namespace tulle
