// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/jds_ell.cpp:  y = alpha*A*x + beta*y, A in JDS-ELL.
//
// As jds_rows.hpp says. Bytes that must move, double with 32-bit indices: 12 per slot, 4 per row
// for perm, 8 per row and 8 per column; 16 per entry in coo. len is read only where a sum is NaN.
#include "tulle/format/jds_ell.hpp"

#include "cpu/spmv/jds_rows.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
std::size_t prepare(jds_ell_view<V, I, O> const& a, plan_view& p) {
  return prepare_sorted(a, p);
}

template <class V, class I, class O>
void spmv(V alpha, jds_ell_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  multiply_sorted(alpha, a, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(jds_ell)

} // namespace tulle::kernels::TULLE_ISA
