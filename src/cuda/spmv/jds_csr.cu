// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in JDS-CSR: as jds_rows.cuh says; the entries of a section are
// contiguous.
#include "tulle/format/jds_csr.hpp"

#include "cuda/spmv/jds_rows.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = jds_csr_view<V, I, O, space::cuda>;

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  return prepare_sorted("jds_csr", a, p);
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view const& p) {
  fill_sorted(a, p);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  multiply_sorted(alpha, a, x, beta, y, p, stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(jds_csr)

} // namespace tulle::kernels::cuda
