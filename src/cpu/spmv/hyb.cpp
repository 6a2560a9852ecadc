// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/hyb.cpp:  y = alpha*A*x + beta*y, A in HYB.
//
// The ell and the coo of a strip of rows together, as ell_rows.hpp says: the paper's two kernels,
// one after the other, would move y two more times. Bytes that must move, double with 32-bit
// indices: 12 per slot of the ell, 16 per entry of the coo, 8 per row and 8 per column.
#include "tulle/format/hyb.hpp"

#include "cpu/spmv/ell_rows.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
coo_rest<V, I> rest_of(hyb_view<V, I, O> const& a) {
  return {a.coo_row, a.coo_col, a.coo_val, static_cast<std::int64_t>(a.rest)};
}

template <class V, class I, class O>
std::size_t prepare(hyb_view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    return prepare_slots(a.regular(), rest_of(a), p);
  p.method = "strips and runs";
  return strips_workspace(a.regular(), a.rest, p.threads);
}

template <class V, class I, class O>
void spmv(V alpha, hyb_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (p.transposed)
    scatter_slots(alpha, a.regular(), rest_of(a), x, beta, y, p);
  else
    multiply_strips(alpha, a.regular(), rest_of(a), x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(hyb)

} // namespace tulle::kernels::TULLE_ISA
