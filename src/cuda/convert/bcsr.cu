// SPDX-License-Identifier: Apache-2.0

// csr to bcsr: the shape by a sample, as on the host; then eight lanes per block row, one for each
// of its rows, count its blocks and fill them.
#include "cuda/convert/blocks.cuh"
#include "format/detail/bcsr_build.hpp"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
bcsr_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, bcsr_options o,
                                         result const& to) {
  o = detail::checked_bcsr_options(o);
  canonical<V, I, O> const c(a, to.stream());
  if (o.symmetric)
    check_symmetric("bcsr", c.view, to.stream());
  return blocks_of(c.view, o, to);
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(bcsr)

} // namespace tulle::kernels::cuda
