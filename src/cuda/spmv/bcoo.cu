// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in bcoo, by tiles of blocks: block_runs.cuh. Bytes that must move,
// double with 32-bit indices: 80 per block of 3 x 3, where csr has 108.
#include "tulle/format/bcoo.hpp"

#include "cuda/each.cuh"
#include "cuda/spmv/block_runs.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = bcoo_view<V, I, O, space::cuda>;

/// Block rows that blocks name.
template <class I, class O>
struct named_rows {
  I const* row;
  O blocks;

  __device__ I of(O k) const { return row[k]; }
  __device__ bool ends(O k) const { return k + 1 == blocks || row[k + 1] != row[k]; }
};

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> const& a, plan_view& p) {
  named_rows<I, O> const rows{a.block_row, a.blocks};
  p.info[0] = a.block_rows() !=
              fold<sum>(static_cast<std::size_t>(a.blocks), p.stream,
                        [=] __device__(std::size_t k) { return rows.ends(static_cast<O>(k)); });
  return prepare_runs(a, "bcoo", p);
}

template <class V, class I, class O>
void fill(view<V, I, O> const&, plan_view const&) {}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p,
          void* stream) {
  multiply_runs<V, I, O>(alpha, a, named_rows<I, O>{a.block_row, a.blocks}, p.info[0] != 0, x, beta,
                         y, p, stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(bcoo)

} // namespace tulle::kernels::cuda
