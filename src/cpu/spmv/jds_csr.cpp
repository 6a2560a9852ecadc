// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/jds_csr.cpp:  y = alpha*A*x + beta*y, A in JDS-CSR.
//
// As jds_rows.hpp says: a section has its entries together, where the diagonals of jds are as far
// apart as there are rows. Bytes that must move, double with 32-bit indices: 12 an entry, 4 a
// diagonal and 4 a row for perm, 8 a row and 8 a column; 16 an entry in coo.
#include "tulle/format/jds_csr.hpp"

#include "cpu/spmv/jds_rows.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
std::size_t prepare(jds_csr_view<V, I, O> const& a, plan_view& p) {
  return prepare_sorted(a, p);
}

template <class V, class I, class O>
void spmv(V alpha, jds_csr_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  multiply_sorted(alpha, a, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(jds_csr)

} // namespace tulle::kernels::TULLE_ISA
