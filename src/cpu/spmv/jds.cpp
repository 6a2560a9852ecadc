// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/jds.cpp:  y = alpha*A*x + beta*y, A in JDS.
//
// One section of all rows, as jds_rows.hpp says. Bytes that must move, double with 32-bit indices:
// 12 per entry, 4 per row for perm, 8 per row and 8 per column: those of csr. Long rows, which are
// kept in coo, take 16 per entry.
#include "tulle/format/jds.hpp"

#include "cpu/spmv/jds_rows.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
std::size_t prepare(jds_view<V, I, O> const& a, plan_view& p) {
  return prepare_sorted(a, p);
}

template <class V, class I, class O>
void spmv(V alpha, jds_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  multiply_sorted(alpha, a, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(jds)

} // namespace tulle::kernels::TULLE_ISA
