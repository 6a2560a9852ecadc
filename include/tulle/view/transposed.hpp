// SPDX-License-Identifier: Apache-2.0

/// Views over a matrix: its transpose, its multiple, its conjugate. They copy the view below them
/// and no entry. They nest: scaled(adjoint(a), s), transposed(scaled(a, s)).
#pragma once
#include "tulle/core/any_matrix.hpp"
#include "tulle/core/device_matrix.hpp"

namespace tulle {

template <class View>
struct transposed_view {
  View base;
};

template <class View, class V>
struct scaled_view {
  View base;
  V factor;
};

template <class View>
struct adjoint_view {
  View base;
};

namespace detail {

/// Whether a view is one of these, and stands on its `base`.
template <class View>
inline constexpr bool is_wrapper = false;
template <class View>
inline constexpr bool is_wrapper<transposed_view<View>> = true;
template <class View, class V>
inline constexpr bool is_wrapper<scaled_view<View, V>> = true;
template <class View>
inline constexpr bool is_wrapper<adjoint_view<View>> = true;

template <class A>
auto view_of(A const& a) {
  if constexpr (owner_traits<A>::is_owner)
    return a.view();
  else if constexpr (std::is_base_of_v<any_matrix, A> || std::is_same_v<A, device_matrix>)
    return a.ref();
  else if constexpr (std::is_trivially_copyable_v<A>) // a view, or one that stands on one
    return a;
}
template <class A>
using view_type = decltype(view_of(std::declval<A const&>()));

/// Types that own their arrays: a view of a temporary would outlive them.
template <class A>
concept keeps_arrays = owner_traits<A>::is_owner || std::is_base_of_v<any_matrix, A> ||
    std::is_same_v<A, device_matrix>;

/// The value type of an operand; void if it is known only at run time.
template <class View>
struct value_of {
  using type = void;
};
template <class View>
requires view_traits<View>::is_view struct value_of<View> {
  using type = typename View::value;
};
template <class View>
struct value_of<transposed_view<View>> : value_of<View> {};
template <class View, class V>
struct value_of<scaled_view<View, V>> {
  using type = V;
};
template <class View>
struct value_of<adjoint_view<View>> : value_of<View> {};

/// Whether a view's arrays are in host memory.
template <class View>
constexpr bool is_host_view() {
  if constexpr (view_traits<View>::is_view)
    return view_traits<View>::space == space::host;
  else
    return false;
}
template <class View>
inline constexpr bool is_operand = is_host_view<View>() || std::is_same_v<View, matrix_ref>;
template <class View>
inline constexpr bool is_operand<transposed_view<View>> = is_operand<View>;
template <class View, class V>
inline constexpr bool is_operand<scaled_view<View, V>> = is_operand<View>;
template <class View>
inline constexpr bool is_operand<adjoint_view<View>> = is_operand<View>;

/// The same for matrices on a device.
template <class View>
inline constexpr bool is_device_operand =
    (view_traits<View>::is_view && !is_host_view<View>()) || std::is_same_v<View, device_ref>;
template <class View>
inline constexpr bool is_device_operand<transposed_view<View>> = is_device_operand<View>;
template <class View, class V>
inline constexpr bool is_device_operand<scaled_view<View, V>> = is_device_operand<View>;
template <class View>
inline constexpr bool is_device_operand<adjoint_view<View>> = is_device_operand<View>;

} // namespace detail

/// What operations take as a matrix: an owner, a view, any_matrix, transposed(a), adjoint(a),
/// conjugated(a), scaled(a, s).
template <class A>
concept matrix = detail::is_operand<detail::view_type<A>>;
/// The same in device memory: a view of it, device_matrix, and the views that stand on these.
template <class A>
concept matrix_on_device = detail::is_device_operand<detail::view_type<A>>;
template <class A>
concept matrix_anywhere = matrix<A> || matrix_on_device<A>;
/// One whose value type is known when compiling.
template <class A>
concept typed_matrix =
    matrix<A> && !std::is_void_v<typename detail::value_of<detail::view_type<A>>::type>;
template <matrix_anywhere A>
using value_t = typename detail::value_of<detail::view_type<A>>::type;

/// A^T, without conjugation. transposed(transposed(a)) multiplies as a does, but is another type.
template <matrix_anywhere A>
auto transposed(A const& a) {
  return transposed_view<detail::view_type<A>>{detail::view_of(a)};
}
template <detail::keeps_arrays A>
void transposed(A const&&) = delete;

/// factor * A.
template <matrix_anywhere A>
requires(!std::is_void_v<value_t<A>>) auto scaled(A const& a,
                                                  std::type_identity_t<value_t<A>> factor) {
  return scaled_view<detail::view_type<A>, value_t<A>>{detail::view_of(a), factor};
}
template <detail::keeps_arrays A, class V>
void scaled(A const&&, V const&) = delete;

/// The conjugate transpose; transposed(a) where values are known to be real.
template <matrix_anywhere A>
auto adjoint(A const& a) {
  if constexpr (std::is_floating_point_v<value_t<A>>)
    return transposed(a);
  else
    return adjoint_view<detail::view_type<A>>{detail::view_of(a)};
}
template <detail::keeps_arrays A>
void adjoint(A const&&) = delete;

/// conj(A); as a itself where values are known to be real.
template <matrix_anywhere A>
auto conjugated(A const& a) {
  return adjoint(transposed(a));
}
template <detail::keeps_arrays A>
void conjugated(A const&&) = delete;

} // namespace tulle
