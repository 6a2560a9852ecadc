// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in csr. The transpose goes by rows of A^T, whose order the plan keeps.
#include "tulle/format/csr.hpp"

#include "cuda/spmv/compressed.cuh"

namespace tulle::simt {
namespace {

template <class V, class I, class O>
using view = csr_view<V, I, O, space::device>;

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (p.transposed)
    return prepare_turned<V>(a.cols, a.nnz, true, p);
  carver work;
  reserve_lines<V>(a.rows, a.nnz, work);
  return work.used();
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view& p) {
  if (p.transposed) {
    scratch<I> const row(static_cast<std::size_t>(a.nnz), p.stream);
    expand_rows(a.rows, a.nnz, a.row_ptr, row.get(), p.stream);
    return fill_turned<V>(a.cols, a.nnz, a.col, static_cast<I const*>(row.get()), p);
  }
  carver work(p.work);
  fill_lines<V>(a.rows, a.nnz, a.row_ptr, p, work);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  if (p.transposed)
    return run_turned<V, I, O>(alpha, a.cols, a.nnz, nullptr, a.val, x, beta, y, p, stream);
  carver work(p.work);
  run_lines<V, I, O>(alpha, {a.rows, a.nnz, a.row_ptr, a.col, a.val, nullptr}, x, beta, y, p, work,
                     stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(csr)

} // namespace tulle::simt
