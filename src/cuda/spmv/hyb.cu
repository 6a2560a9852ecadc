// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in hyb: first the ell, one lane per row; then the coo, by tiles.
#include "tulle/format/hyb.hpp"

#include "cuda/spmv/coo_tiles.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = hyb_view<V, I, O, space::cuda>;

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (p.transposed)
    refuse("hyb", "transposed products have no kernel; those of csr and csc do");
  p.method = a.rest == 0 ? "rows" : "rows, the rest by tiles";
  return coo_workspace<V>(a.rest);
}

template <class V, class I, class O>
void fill(view<V, I, O>, plan_view const&) {}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  multiply_ell(alpha, a.regular(), x, beta, y, stream);
  add_coo<V, I, O>(alpha, {a.rest, a.coo_row, a.coo_col, a.coo_val}, x, y, p.work, stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(hyb)

} // namespace tulle::kernels::cuda
