// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in VBICRS: tiles of 32 vectors (bicrs_tiles.cuh), one lane per slot.
//
// Holes are skipped by their bits, which costs an eightieth of the bytes and saves reading x for
// them. Bytes that must move, double with 32-bit indices: 10.1 per slot, 4 per row of a block, 8
// per row and 8 per column; 16 more for each piece of a row that has several.
#include "tulle/format/vbicrs.hpp"

#include "cuda/spmv/bicrs_tiles.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = vbicrs_view<V, I, O, space::cuda>;

template <class V, class I, class O>
auto vectors_of(view<V, I, O> const& a) {
  int bits = 0;
  while (1 << bits < a.height)
    ++bits;
  return increments_of<view<V, I, O>::lanes>(a, bits, a.pattern);
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    refuse("vbicrs", "transposed products have no kernel; those of csr and csc do");
  return prepare_tiles(vectors_of(a), p);
}

template <class V, class I, class O>
void fill(view<V, I, O> const& a, plan_view const& p) {
  fill_tiles(vectors_of(a), p);
}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p,
          void* stream) {
  run_tiles(alpha, vectors_of(a), x, beta, y, p, stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(vbicrs)

} // namespace tulle::kernels::cuda
