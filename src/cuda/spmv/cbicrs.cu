// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in CBICRS: tiles of entries (bicrs_tiles.cuh), blocks one by one.
//
// Bytes that must move, double with 32-bit indices: 10.1 per entry, 4 per row of a block, 8 per row
// and 8 per column; 16 more for each piece of a row that has several.
#include "tulle/format/cbicrs.hpp"

#include "cuda/spmv/bicrs_tiles.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = cbicrs_view<V, I, O, space::cuda>;

template <class V, class I, class O>
auto entries_of(view<V, I, O> const& a) {
  return increments_of<1>(a, 0, nullptr);
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    refuse("cbicrs", "transposed products have no kernel; those of csr and csc do");
  return prepare_tiles(entries_of(a), p);
}

template <class V, class I, class O>
void fill(view<V, I, O> const& a, plan_view const& p) {
  fill_tiles(entries_of(a), p);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p,
          void* stream) {
  run_tiles(alpha, entries_of(a), x, beta, y, p, stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(cbicrs)

} // namespace tulle::kernels::cuda
