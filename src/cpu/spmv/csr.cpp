// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/csr.cpp:  y = alpha*A*x + beta*y, A in CSR.
//
// By rows_product.hpp, or by merge.hpp or segments.hpp where that is asked for. The transpose by
// scatter.hpp. Bytes that must move, double with 32-bit indices: 12 per entry, 12 per row and 8 per
// column; 2 flops per entry, so memory binds.
#include "tulle/format/csr.hpp"

#include "cpu/spmv/merge.hpp"
#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/rows_product.hpp"
#include "cpu/spmv/scatter.hpp"
#include "cpu/spmv/segments.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
std::size_t prepare(csr_view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    return prepare_scatter<V>(a.col, a.nnz, p);
  if (p.wanted == spmv_method::merge) {
    p.method = "merge";
    return merge_tiles<plain<V>>(a.rows, a.nnz, p.threads).bytes();
  }
  if (p.wanted == spmv_method::segments) {
    p.method = "segments";
    return segment_blocks<plain<V>>(a.nnz, p.threads).bytes();
  }
  p.wanted = spmv_method::rows;
  return prepare_rows<V>(a.rows, a.nnz, p);
}

template <class V, class I, class O>
void fill(csr_view<V, I, O> const& a, plan_view& p) {
  if (!p.transposed && p.wanted == spmv_method::rows)
    fill_rows(a.row_ptr, a.col, a.val, a.rows, a.nnz, p);
}

template <class V, class I, class O>
void spmv(V alpha, csr_view<V, I, O> const& a, V const* x, V beta, V* y, plan_view const& p) {
  if (p.transposed)
    scatter_lines(alpha, a.row_ptr, a.col, a.val, a.rows, a.cols, a.nnz, x, beta, y, p);
  else if (p.wanted == spmv_method::merge)
    multiply_merge(*as_plain(&alpha), a.row_ptr, a.col, as_plain(a.val), a.rows, a.nnz, as_plain(x),
                   *as_plain(&beta), as_plain(y), p);
  else if (p.wanted == spmv_method::segments)
    multiply_segments(*as_plain(&alpha), a.row_ptr, a.col, as_plain(a.val), a.rows, a.nnz,
                      as_plain(x), *as_plain(&beta), as_plain(y), p);
  else
    product_by_rows(alpha, a.row_ptr, a.col, a.val, a.rows, a.nnz, x, beta, y, p,
                    plan_of<V>(a.rows, a.nnz, p));
}

} // namespace

#define TULLE_SHARED(tag, V, I, O)                                                                 \
  void multiply_rows(V alpha, O const* ptr, I const* col, V const* val, std::int64_t rows,         \
                     std::int64_t nnz, V const* x, V beta, V* y, plan_view const& p) {             \
    product_by_rows(alpha, ptr, col, val, rows, nnz, x, beta, y, p);                               \
  }                                                                                                \
  void scatter_lines(V alpha, O const* ptr, I const* target, V const* val, std::int64_t lines,     \
                     std::int64_t targets, std::int64_t nnz, V const* x, V beta, V* y,             \
                     plan_view const& p) {                                                         \
    product_by_lines(alpha, ptr, target, val, lines, targets, nnz, x, beta, y, p);                 \
  }
TULLE_TYPES(TULLE_SHARED)
TULLE_BASIC_TYPES(TULLE_SHARED)
#undef TULLE_SHARED
#define TULLE_SHARED(tag, V, I, O)                                                                 \
  void multiply_some_rows(V alpha, O const* ptr, I const* col, V const* val, std::int64_t rows,    \
                          std::int64_t nnz, V const* x, V beta, V* y, bool overwrite,              \
                          std::int64_t i, std::int64_t end) {                                      \
    for (; i < end; i += block_rows) {                                                             \
      int const n = static_cast<int>(end - i < block_rows ? end - i : block_rows);                 \
      run_block<false>(                                                                            \
          kind_of<V>(ptr + i, n, rows, false),                                                     \
          row_block<V, I, O>{ptr + i, n, col, val, nnz, x, y + i, alpha, beta, overwrite});        \
    }                                                                                              \
  }
TULLE_TYPES(TULLE_SHARED)
#undef TULLE_SHARED

TULLE_INSTANTIATE_SPMV_FILLED(csr)

} // namespace tulle::kernels::TULLE_ISA
