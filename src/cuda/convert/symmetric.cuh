// SPDX-License-Identifier: Apache-2.0

// Symmetric storage: whether a matrix equals its transpose, and its lower triangle.
#pragma once
#include "cuda/convert/canonical.cuh"
#include "format/detail/symmetric.hpp"

namespace tulle::kernels::cuda {

/// As detail::check_symmetric: errc::unsupported for a canonical matrix that does not equal its
/// transpose bit by bit. Waits for the stream.
template <class V, class I, class O>
void check_symmetric(char const* format, device_csr<V, I, O> const& a, void* stream);

/// As detail::lower_triangle: the entries on and below the diagonal of a canonical matrix, or of
/// its blocks. Waits for the stream.
template <class V, class I, class O>
scratch_csr<V, I, O> lower_triangle(device_csr<V, I, O> const& a, void* stream, int side = 1);

/// As detail::stored_part: the lower triangle where only that is stored.
template <class V, class I, class O>
struct stored_part {
  scratch_csr<V, I, O> lower;
  device_csr<V, I, O> view;

  stored_part(device_csr<V, I, O> const& a, bool symmetric, void* stream, int side = 1) : view(a) {
    if (!symmetric)
      return;
    lower = lower_triangle(a, stream, side);
    view = lower.view;
  }
};

} // namespace tulle::kernels::cuda
