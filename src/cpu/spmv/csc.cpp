// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/csc.cpp:  y = alpha*A*x + beta*y, A in CSC.
//
// By scatter.hpp: each column adds to scattered elements of y. The transpose is computed by
// rows.hpp, since the entries of each y are contiguous.
#include "tulle/format/csc.hpp"

#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/scatter.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
std::size_t prepare(csc_view<V, I, O> const& a, plan_view& p) {
  if (!p.transposed)
    return prepare_scatter<V>(a.row, a.nnz, p);
  p.method = "columns";
  return rows_workspace<V>(a.cols, a.nnz, p.threads);
}

template <class V, class I, class O>
void spmv(V alpha, csc_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (p.transposed)
    multiply_rows(alpha, a.col_ptr, a.row, a.val, a.cols, a.nnz, x, beta, y, p);
  else
    scatter_lines(alpha, a.col_ptr, a.row, a.val, a.cols, a.rows, a.nnz, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV_BASIC(csc)

} // namespace tulle::kernels::TULLE_ISA
