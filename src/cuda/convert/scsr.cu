// SPDX-License-Identifier: Apache-2.0

// csr to scsr: the lower triangle of a matrix that equals its transpose.
#include "tulle/format/scsr.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/convert/symmetric.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
scsr_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, scsr_options,
                                           result const& to) {
  canonical<V, I, O> const c(a, to.stream());
  check_symmetric("scsr", c.view, to.stream());
  auto const l = lower_triangle(c.view, to.stream());
  auto const n = static_cast<std::size_t>(l.view.nnz);
  return {unchecked,
          a.rows,
          c.view.nnz,
          l.view.nnz,
          to.row_ptr(l.view),
          to.copy(l.view.col, n),
          to.copy(l.view.val, n)};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(scsr)

} // namespace tulle::kernels::cuda
