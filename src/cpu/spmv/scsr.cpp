// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/scsr.cpp:  y = alpha*A*x + beta*y, A in SCSR.
//
// Bytes that must move, double with 32-bit indices: 12 per stored entry, 12 per row and 8 per
// column, and the windows of y three times. The transpose is the same.
#include "tulle/format/scsr.hpp"

#include "cpu/spmv/symmetric_rows.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
std::size_t prepare(scsr_view<V, I, O> const& a, plan_view& p) {
  p.method = "symmetric rows";
  return prepare_symmetric_rows<V>(a.rows, a.stored, 1, a.row_ptr, a.col, p);
}

template <class V, class I, class O>
void spmv(V alpha, scsr_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  multiply_symmetric_rows(alpha, a.rows, a.row_ptr, a.col, a.val, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(scsr)

} // namespace tulle::kernels::TULLE_ISA
