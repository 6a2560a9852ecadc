// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/ell.cpp:  y = alpha*A*x + beta*y, A in ELL.
//
// By strips of rows, as ell_rows.hpp says; the transpose scatters slots row by row. Bytes that must
// move, double with 32-bit indices: 12 per slot, 8 per row and 8 per column; 2 flops per slot, so
// memory binds. A row without padding moves 4 bytes less than in csr: its pointer.
#include "tulle/format/ell.hpp"

#include "cpu/spmv/ell_rows.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
std::size_t prepare(ell_view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    return prepare_slots(a, coo_rest<V, I>(), p);
  p.method = "strips";
  return strips_workspace(a, 0, p.threads);
}

template <class V, class I, class O>
void spmv(V alpha, ell_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (p.transposed)
    scatter_slots(alpha, a, coo_rest<V, I>(), x, beta, y, p);
  else
    multiply_strips(alpha, a, coo_rest<V, I>(), x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(ell)

} // namespace tulle::kernels::TULLE_ISA
