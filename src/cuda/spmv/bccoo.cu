// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y, A in bccoo, by tiles of blocks: block_runs.cuh. Bytes that must move,
// double with 32-bit indices: 76.2 per block of 3 x 3, where csr has 108.
#include "tulle/format/bccoo.hpp"

#include "cuda/spmv/block_runs.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = bccoo_view<V, I, O, space::cuda>;

/// Block rows by flags.
template <class I, class O>
struct flagged_rows {
  std::uint64_t const* flag;
  I const* before;
  I const* block_row; // of those that have blocks
  bool has_empty;

  __device__ I of(O k) const {
    unsigned long long const ended = ~flag[k / 64] & ((1ull << k % 64) - 1);
    I const n = before[k / 64] + static_cast<I>(__popcll(ended));
    return has_empty ? block_row[n] : n;
  }
  __device__ bool ends(O k) const { return !(flag[k / 64] >> k % 64 & 1); }
};

template <class V, class I, class O>
std::size_t prepare(view<V, I, O> const& a, plan_view& p) {
  return prepare_runs(a, "bccoo", p);
}

template <class V, class I, class O>
void fill(view<V, I, O> const&, plan_view const&) {}

template <class V, class I, class O>
void spmv(V alpha, view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p,
          void* stream) {
  flagged_rows<I, O> const rows{a.flag, a.before, a.block_row, a.has_empty()};
  multiply_runs<V, I, O>(alpha, a, rows, rows.has_empty, x, beta, y, p, stream);
}

} // namespace

TULLE_INSTANTIATE_CUDA_SPMV(bccoo)

} // namespace tulle::kernels::cuda
