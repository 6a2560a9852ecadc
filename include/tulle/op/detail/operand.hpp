// SPDX-License-Identifier: Apache-2.0

/// Operands without their types: what operations are compiled for.
#pragma once
#include "tulle/view/transposed.hpp"

namespace tulle::detail {

/// A matrix operand after its wrappers are taken off.
struct spmv_operand {
  matrix_ref matrix;
  bool transposed = false;
  bool conjugated = false; ///< where values are complex
};

/// What wrappers do to the matrix below them.
struct wrapping {
  bool transposes = false;
  bool conjugates = false;
};
template <class View>
inline constexpr wrapping wrapping_of{};
template <class View>
inline constexpr wrapping wrapping_of<transposed_view<View>>{.transposes = true};
template <class View>
inline constexpr wrapping wrapping_of<adjoint_view<View>>{.transposes = true, .conjugates = true};

/// f(spmv_operand) of a view. Wrappers may stand on each other in any order.
template <class View, class F>
decltype(auto) with_operand(View const& a, F&& f, bool transposed = false,
                            bool conjugated = false) {
  if constexpr (is_wrapper<View>) {
    constexpr wrapping here = wrapping_of<View>;
    return with_operand(a.base, static_cast<F&&>(f), transposed != here.transposes,
                        conjugated != here.conjugates);
  } else if constexpr (std::is_same_v<View, matrix_ref>) {
    return f(spmv_operand{a, transposed, conjugated});
  } else if constexpr (std::is_same_v<View, device_ref>) {
    return f(spmv_operand{a.matrix, transposed, conjugated});
  } else {
    return f(spmv_operand{matrix_ref(a), transposed, conjugated});
  }
}

/// Where an operation without a policy runs: where the data is.
template <class View>
where home_of(View const& a) {
  if constexpr (std::is_same_v<View, device_ref>)
    return a.where;
  else if constexpr (is_wrapper<View>)
    return home_of(a.base);
  else if constexpr (is_device_operand<View>)
    return device(view_traits<View>::space);
  else
    return cpu{};
}
template <matrix_anywhere A>
where home(A const& a) {
  if constexpr (matrix_on_device<A>)
    return home_of(view_of(a));
  else
    return cpu{};
}

/// A matrix that no wrapper is around.
template <class A>
concept plain_matrix = matrix_anywhere<A> && !is_wrapper<view_type<A>>;
template <class A>
concept plain_matrix_on_device = plain_matrix<A> && matrix_on_device<A>;

/// f(matrix_ref) of such a matrix.
template <plain_matrix A, class F>
decltype(auto) with_matrix(A const& a, F&& f) {
  return with_operand(view_of(a),
                      [&](spmv_operand const& o) -> decltype(auto) { return f(o.matrix); });
}

/// What products of matrices make of such an operand: a csr of its types, any_matrix where only run
/// time tells those, device_matrix on a device.
template <class View>
auto product_of() {
  if constexpr (is_device_operand<View>)
    return std::type_identity<device_matrix>();
  else if constexpr (std::is_same_v<View, matrix_ref>)
    return std::type_identity<any_matrix>();
  else
    return std::type_identity<
        csr<typename View::value, typename View::index, typename View::offset>>();
}
template <plain_matrix A>
using product_t = typename decltype(product_of<view_type<A>>())::type;

} // namespace tulle::detail
