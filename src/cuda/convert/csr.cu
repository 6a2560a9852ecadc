// SPDX-License-Identifier: Apache-2.0

// csr to csr: its canonical form.
#include "cuda/convert/convert.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
device_csr<V, I, O> from_csr(device_csr<V, I, O> const& a, csr_options, result const& to) {
  canonical<V, I, O> const c(a, to.stream());
  return to.copy(c.view);
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT_BASIC(csr)

} // namespace tulle::kernels::cuda
