// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/bcoo.cpp:  y = alpha*A*x + beta*y, A in BCOO, by runs of one block row:
// block_runs.hpp.
//
// Bytes that must move, double with 32-bit indices and 3 x 3 blocks: 8.89 per slot, 8 per row and 8
// per column.
#include "tulle/format/bcoo.hpp"

#include "cpu/spmv/block_runs.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// Block rows that blocks name.
template <class I>
struct named_rows {
  I const* row;
  std::int64_t blocks;

  HWY_INLINE std::int64_t of(std::int64_t k) const { return row[k]; }
  HWY_INLINE bool ends(std::int64_t k) const { return k + 1 == blocks || row[k + 1] != row[k]; }
  HWY_INLINE std::int64_t run_end(std::int64_t k, std::int64_t end) const {
    I const i = row[k];
    do
      ++k;
    while (k < end && row[k] == i);
    return k;
  }
};

template <class V, class I, class O>
std::size_t prepare(bcoo_view<V, I, O> const& a, plan_view& p) {
  return prepare_runs(a, p);
}

template <class V, class I, class O>
void spmv(V alpha, bcoo_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  multiply_runs(alpha, a, named_rows<I>{a.block_row, a.blocks}, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(bcoo)

} // namespace tulle::kernels::TULLE_ISA
