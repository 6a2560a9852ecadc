// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in coo. Entries in row order are multiplied as stored, and the plan
// keeps where rows begin; for any other order the plan keeps the row order.
#include "tulle/format/coo.hpp"

#include "cuda/spmv/compressed.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = coo_view<V, I, O, space::cuda>;

// The index that a product goes by, and the one that it reads x at.
template <class V, class I, class O>
struct side {
  I lines;
  I const *key, *other;
  side(view<V, I, O> const& a, bool transposed)
      : lines(transposed ? a.cols : a.rows), key(transposed ? a.col : a.row),
        other(transposed ? a.row : a.col) {}
};

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> a, plan_view& p) {
  side<V, I, O> const s(a, p.transposed);
  return prepare_turned<V>(s.lines, a.nnz, !is_sorted(s.key, a.nnz, p.stream), p);
}

template <class V, class I, class O>
void fill(view<V, I, O> a, plan_view& p) {
  side<V, I, O> const s(a, p.transposed);
  fill_turned<V>(s.lines, a.nnz, s.key, s.other, p);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> a, V const* x, V beta, V* y, plan_view const& p, void* stream) {
  side<V, I, O> const s(a, p.transposed);
  run_turned<V, I, O>(alpha, s.lines, a.nnz, s.other, a.val, x, beta, y, p, stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV_BASIC(coo)

} // namespace tulle::kernels::cuda
