// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/jds_csr.cpp:  y = alpha*A*x + beta*y, A in JDS-CSR.
//
// As jds_rows.hpp says: the entries of a section are contiguous, whereas the diagonals of jds are
// as long as the matrix has rows. Bytes that must move, double with 32-bit indices: 12 per entry, 4
// per diagonal and 4 per row for perm, 8 per row and 8 per column; 16 per entry in coo.
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
