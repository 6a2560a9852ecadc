// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in csc: the plan keeps the order of its rows. The transpose goes by
// columns as they are stored.
#include "tulle/format/csc.hpp"

#include "cuda/spmv/compressed.cuh"

namespace tulle::simt {
namespace {

template <class V, class I, class O>
using view = csc_view<V, I, O, space::device>;

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  if (!p.transposed)
    return prepare_turned<V>(a.rows, a.nnz, true, p);
  carver work;
  reserve_lines<V>(a.cols, a.nnz, work);
  return work.used();
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view& p) {
  if (!p.transposed) {
    scratch<I> const column(static_cast<std::size_t>(a.nnz), p.stream);
    expand_rows(a.cols, a.nnz, a.col_ptr, column.get(), p.stream);
    return fill_turned<V>(a.rows, a.nnz, a.row, static_cast<I const*>(column.get()), p);
  }
  carver work(p.work);
  fill_lines<V>(a.cols, a.nnz, a.col_ptr, p, work);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  if (!p.transposed)
    return run_turned<V, I, O>(alpha, a.rows, a.nnz, nullptr, a.val, x, beta, y, p, stream);
  carver work(p.work);
  run_lines<V, I, O>(alpha, {a.cols, a.nnz, a.col_ptr, a.row, a.val, nullptr}, x, beta, y, p, work,
                     stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(csc)

} // namespace tulle::simt
