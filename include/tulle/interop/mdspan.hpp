// SPDX-License-Identifier: Apache-2.0

/// A std::mdspan as a vector or a dense matrix, without a copy; or any type with its interface,
/// such as the reference implementation, for standard libraries without <mdspan>.
///
///     tulle::spmv(1.0, a, tulle::from_mdspan(x), 0.0, tulle::from_mdspan(y));   // rank 1
///     tulle::spmm(1.0, a, tulle::from_mdspan(b), 0.0, tulle::from_mdspan(c));   // rank 2
#pragma once
#include "tulle/view/dense.hpp"
#include "tulle/view/vector.hpp"

#include <concepts>

namespace tulle {
namespace detail {

/// Elements lie where a pointer and strides say. An accessor that computes, as that of
/// std::linalg::scaled, has no reference to give.
template <class M>
concept strided_mdspan = requires(M const& m) {
  { M::rank() } -> std::convertible_to<std::size_t>;
  { m.data_handle() } -> std::same_as<typename M::element_type*>;
  { m.extent(0) } -> std::convertible_to<std::size_t>;
  { m.stride(0) } -> std::convertible_to<std::size_t>;
  { m.is_strided() } -> std::convertible_to<bool>;
  requires std::same_as<typename M::reference, typename M::element_type&>;
  requires M::rank()
  == 1 || M::rank() == 2;
};

} // namespace detail

/// Rank 1: a vector_view; errc::bad_structure where the stride is not 1. Rank 2: a dense_view of
/// any strides.
template <detail::strided_mdspan M>
auto from_mdspan(M const& m) {
  auto const size = [&](auto n) { return static_cast<std::size_t>(n); };
  if (!m.is_strided())
    fail(errc::bad_structure, "from_mdspan: this layout has no strides");
  if constexpr (M::rank() == 1) {
    if (m.stride(0) != 1 && m.extent(0) > 1)
      fail(errc::bad_structure,
           "from_mdspan: the elements are %zu apart, expected 1; copy them, or use spmm with a "
           "dense_view of one column, which takes strides",
           size(m.stride(0)));
    return vector_view<typename M::element_type>(m.data_handle(), size(m.extent(0)));
  } else {
    return dense_view<typename M::element_type>{m.data_handle(), size(m.extent(0)),
                                                size(m.extent(1)), size(m.stride(0)),
                                                size(m.stride(1))};
  }
}

} // namespace tulle
