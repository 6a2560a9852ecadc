// SPDX-License-Identifier: Apache-2.0

// Conjugates of dense matrices, for products with the conjugate transpose.
#pragma once
#include "tulle/view/dense.hpp"

#include "cuda/each.cuh"

namespace tulle::kernels::cuda {
namespace {

/// `to` = conj(from); both may be the same matrix. Goes along the contiguous dimension of `to`.
template <class V>
void conjugate_dense(detail::dense_ref const& from, detail::dense_ref const& to, void* stream) {
  auto const* const in = static_cast<V const*>(from.data);
  auto* const out = static_cast<V*>(to.data);
  check_aligned<V, V>(in, out);
  bool const by_rows = to.row_stride >= to.col_stride;
  std::size_t const length = by_rows ? to.cols : to.rows;
  each(to.rows * to.cols, stream, [=] __device__(std::size_t k) {
    std::size_t const line = k / length, place = k % length;
    std::size_t const i = by_rows ? line : place, j = by_rows ? place : line;
    out[i * to.row_stride + j * to.col_stride] =
        conjugate(in[i * from.row_stride + j * from.col_stride]);
  });
}

} // namespace
} // namespace tulle::kernels::cuda
