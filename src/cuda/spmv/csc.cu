// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in csc: the plan keeps the entries' order by rows. The transpose goes
// by columns as stored.
#include "tulle/format/csc.hpp"

#include "cuda/spmv/compressed.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = csc_view<V, I, O, space::cuda>;

template <class V, class I, class O>
compressed<V, I, O> lines_of(view<V, I, O> const& a, plan_view const& p) {
  return {a.cols, a.rows, a.nnz, a.col_ptr, a.row, a.val, !p.transposed};
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  return lines_of(a, p).prepare(p);
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view& p) {
  lines_of(a, p).fill(p);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  lines_of(a, p).multiply(alpha, x, beta, y, p, stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV_BASIC(csc)

} // namespace tulle::kernels::cuda
