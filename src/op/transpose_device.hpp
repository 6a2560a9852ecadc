// SPDX-License-Identifier: Apache-2.0

// The transpose of a matrix on a device: a csc's arrays are those of the transpose as csr.
#pragma once
#include "tulle/core/device_matrix.hpp"
#include "tulle/format/csc.hpp"

namespace tulle::detail {

template <space S, class T, class F>
device_matrix with_transpose_in(device_matrix const& by_columns, F&& f, T) {
  using V = typename T::value;
  using I = typename T::index;
  using O = typename T::offset;
  auto const c = by_columns.view<csc_view<V, I, O, S>>();
  csr_view<V, I, O, S> const r(unchecked, c.cols, c.rows, c.nnz, c.col_ptr, c.row, c.val);
  return f(matrix_ref(r));
}

/// f(matrix_ref) of the csr that is the transpose of a csc.
template <class F>
device_matrix with_transpose(device_matrix const& by_columns, F&& f) {
  return visit(by_columns.type(), [&](auto types) {
    return space_of(by_columns.where()) == space::opencl
               ? with_transpose_in<space::opencl>(by_columns, f, types)
               : with_transpose_in<space::cuda>(by_columns, f, types);
  });
}

} // namespace tulle::detail
