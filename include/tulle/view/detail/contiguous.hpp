// SPDX-License-Identifier: Apache-2.0

/// Whether a type with data() and size() is a vector with contiguous elements. A row of a matrix
/// stored by columns has both functions, too.
#pragma once
#include "tulle/core/fail.hpp"

#include <concepts>
#include <cstddef>

namespace tulle::detail {

template <class C>
concept has_rows_and_cols = requires(C const& c) {
  { c.rows() } -> std::convertible_to<std::ptrdiff_t>;
  { c.cols() } -> std::convertible_to<std::ptrdiff_t>;
};

/// Where the type tells that it is none: Eigen's fixed inner stride (-1: known at run time), and
/// its fixed numbers of rows and columns.
template <class C>
constexpr bool is_never_a_vector() {
  bool never = false;
  if constexpr (requires { C::InnerStrideAtCompileTime; }) {
    constexpr int stride = static_cast<int>(C::InnerStrideAtCompileTime);
    never = stride != 1 && stride != -1;
  }
  if constexpr (requires {
                  C::RowsAtCompileTime;
                  C::ColsAtCompileTime;
                })
    never = never || (static_cast<int>(C::RowsAtCompileTime) > 1 &&
                      static_cast<int>(C::ColsAtCompileTime) > 1);
  return never;
}

/// How far apart two elements are, by the names that libraries give it.
template <class C>
std::ptrdiff_t element_stride(C const& c) {
  if constexpr (has_rows_and_cols<C> && requires {
                  c.rowStride();
                  c.colStride();
                })
    return static_cast<std::ptrdiff_t>(c.rows() == 1 ? c.colStride() : c.rowStride());
  else if constexpr (requires {
                       { c.innerStride() } -> std::convertible_to<std::ptrdiff_t>;
                     })
    return static_cast<std::ptrdiff_t>(c.innerStride());
  else if constexpr (requires {
                       { c.stride() } -> std::convertible_to<std::ptrdiff_t>;
                     })
    return static_cast<std::ptrdiff_t>(c.stride());
  else if constexpr (requires {
                       { c.stride(0) } -> std::convertible_to<std::ptrdiff_t>;
                     })
    return static_cast<std::ptrdiff_t>(c.stride(0));
  else
    return 1;
}

/// errc::shape_mismatch for a matrix, errc::bad_structure for elements with gaps.
template <class C>
void check_vector(C const& c) {
  if constexpr (has_rows_and_cols<C>)
    if (c.rows() != 1 && c.cols() != 1 && c.size() != 0)
      fail(errc::shape_mismatch,
           "vector_view: expected a vector, found a matrix of %td x %td; take a column of it, or "
           "spmm",
           static_cast<std::ptrdiff_t>(c.rows()), static_cast<std::ptrdiff_t>(c.cols()));
  if (std::ptrdiff_t const stride = element_stride(c); stride != 1 && c.size() > 1)
    fail(errc::bad_structure,
         "vector_view: the elements are %td apart, expected 1; copy them, or use spmm with a "
         "dense_view of one column, which takes strides",
         stride);
}

} // namespace tulle::detail
