// SPDX-License-Identifier: Apache-2.0

/// A borrowed dense matrix.
#pragma once
#include "tulle/core/space.hpp"

#include <cstddef>
#include <type_traits>

namespace tulle {

/// Element (i, j) is at data[i * row_stride + j * col_stride].
template <class T, space S = space::host>
struct dense_view {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t row_stride = 0;
  std::size_t col_stride = 1;

  T& operator()(std::size_t i, std::size_t j) const {
    return data[i * row_stride + j * col_stride];
  }
  operator dense_view<T const, S>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, row_stride, col_stride};
  }
};

/// Rows one after the other, `stride` apart; 0: without gaps. On a device: row_major<space::cuda>.
template <space S = space::host, class T>
dense_view<T, S> row_major(T* data, std::size_t rows, std::size_t cols, std::size_t stride = 0) {
  return {data, rows, cols, stride ? stride : cols, 1};
}
/// Columns one after the other.
template <space S = space::host, class T>
dense_view<T, S> col_major(T* data, std::size_t rows, std::size_t cols, std::size_t stride = 0) {
  return {data, rows, cols, 1, stride ? stride : rows};
}

namespace detail {

/// A dense view whose type and space are known only at run time. One made from const data is never
/// written to.
struct dense_ref {
  void* data = nullptr;
  std::size_t rows = 0, cols = 0, row_stride = 0, col_stride = 0;

  dense_ref() = default;
  template <class T, space S>
  dense_ref(dense_view<T, S> const& d)
      : data(const_cast<std::remove_const_t<T>*>(d.data)), rows(d.rows), cols(d.cols),
        row_stride(d.row_stride), col_stride(d.col_stride) {}
};

} // namespace detail

} // namespace tulle
