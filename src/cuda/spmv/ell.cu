// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in ell: one lane per row.
#include "tulle/format/ell.hpp"

#include "cuda/spmv/ell_rows.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = ell_view<V, I, O, space::cuda>;

template <class V, class I, class O>
std::size_t prepare(view<V, I, O>, plan_view& p) {
  if (p.transposed)
    refuse("ell", "transposed products have no kernel; those of csr and csc do");
  p.method = "rows";
  return 0;
}

template <class V, class I, class O>
void fill(view<V, I, O>, plan_view const&) {}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const&, void* stream) {
  multiply_ell(alpha, a, x, beta, y, stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(ell)

} // namespace tulle::kernels::cuda
