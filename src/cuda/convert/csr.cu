// SPDX-License-Identifier: Apache-2.0

// csr to csr: its canonical form.
#include "cuda/convert/convert.cuh"

namespace tulle::simt {
namespace {

template <class V, class I, class O>
device_csr<V, I, O> from_csr(device_csr<V, I, O> const& a, csr_options, result const& to) {
  canonical<V, I, O> const c(a, to.stream());
  auto const n = static_cast<std::size_t>(c.view.nnz);
  return {unchecked,
          a.rows,
          a.cols,
          c.view.nnz,
          to.row_ptr(c.view),
          to.copy(c.view.col, n),
          to.copy(c.view.val, n)};
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT(csr)

} // namespace tulle::simt
