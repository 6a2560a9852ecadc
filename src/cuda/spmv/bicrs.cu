// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in BICRS: tiles of entries (bicrs_tiles.cuh), parts one by one.
//
// Bytes that must move, double with 32-bit indices: 12.1 per entry, 4 per row that entries name, 8
// per row and 8 per column; 16 more for each piece of a row that has several.
#include "tulle/format/bicrs.hpp"

#include "cuda/spmv/bicrs_tiles.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = bicrs_view<V, I, O, space::cuda>;

template <class V, class I, class O>
increments<1, V, I, O, I> entries_of(view<V, I, O> const& a) {
  return {a.rows,
          a.nnz,
          a.jumps,
          a.parts,
          a.parts,
          a.part_row,
          nullptr,
          nullptr,
          nullptr,
          a.part_ptr,
          a.part_jump,
          a.row,
          a.col,
          a.val,
          nullptr,
          false,
          static_cast<std::make_unsigned_t<I>>(a.cols),
          0};
}

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    refuse("bicrs", "transposed products have no kernel; those of csr and csc do");
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

TULLE_INSTANTIATE_CUDA_SPMV(bicrs)

} // namespace tulle::kernels::cuda
