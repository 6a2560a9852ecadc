// SPDX-License-Identifier: Apache-2.0

// csr to coo and back: one row per entry; entries sorted by row and counted.
#include "tulle/format/coo.hpp"

#include "cuda/convert/convert.cuh"
#include "cuda/sort_by_key.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
coo_view<V, I, O, space::cuda> from_csr(device_csr<V, I, O> const& a, coo_options,
                                        result const& to) {
  canonical<V, I, O> const c(a, to.stream());
  auto const n = static_cast<std::size_t>(c.view.nnz);
  I* const row = to.take<I>(n);
  expand_rows(a.rows, c.view.nnz, c.view.row_ptr, row, to.stream());
  return {
      unchecked, a.rows, a.cols, c.view.nnz, row, to.copy(c.view.col, n), to.copy(c.view.val, n)};
}

template <class V, class I, class O>
device_csr<V, I, O> to_csr(coo_view<V, I, O, space::cuda> const& a, result const& to) {
  auto const c = compress(a.rows, a.cols, a.nnz, a.row, a.col, a.val, to.stream());
  return to.copy(c.view);
}

} // namespace

TULLE_INSTANTIATE_CUDA_CONVERT_BASIC_BACK(coo)

} // namespace tulle::kernels::cuda
