// SPDX-License-Identifier: Apache-2.0

// src/cpu/spmv/csr_adaptive.cpp:  y = alpha*A*x + beta*y, A in CSR-Adaptive.
//
// Threads are dealt blocks. A block's rows are computed as in rows.hpp; the parts of a long row are
// added in order. Blocks depend on the matrix alone, and so do the bits. The transpose is that of
// csr. Bytes that must move, double with 32-bit indices: 12 per entry, 12 per row, 8 per column and
// 4 per block.
#include "tulle/format/csr_adaptive.hpp"

#include "cpu/spmv/pieces.hpp"
#include "cpu/spmv/rows.hpp"
#include "cpu/spmv/scatter.hpp"
#include "kernel/instantiate.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

template <class V, class I, class O>
std::size_t prepare(csr_adaptive_view<V, I, O> const& a, plan_view& p) {
  if (p.transposed)
    return prepare_scatter<V>(a.col, a.nnz, p);
  p.method = "blocks of rows";
  return pieces<V>{a.blocks, p.threads}.bytes();
}

template <class V, class I, class O>
void multiply_blocks(V alpha, csr_adaptive_view<V, I, O> const& a, V const* x, V beta, V* y,
                     plan_view const& p) {
  bool const overwrite = beta == V{};
  std::int64_t const ahead = ahead_of(p);
  std::int64_t const most = static_cast<std::int64_t>(a.entries) * detail::long_row_blocks;
  pieces<V>{a.blocks, p.threads}.run(
      alpha, y, p.work, [=](std::int64_t first, std::int64_t last, piece<V>* left) {
        std::int64_t part = 0; // of the row that block b is a part of
        for (std::int64_t b = first; b > 0 && a.row_block[b] == a.row_block[b - 1]; --b)
          ++part;
        for (std::int64_t b = first; b < last; ++b) {
          std::int64_t const i = a.row_block[b];
          std::int64_t const end = a.row_block[b + 1];
          left[b].row = -1;
          if (part == 0 && i != end) {
            multiply_some_rows(alpha, a.row_ptr, a.col, a.val, a.rows, a.nnz, x, beta, y, overwrite,
                               i, end);
            continue;
          }
          std::int64_t const k = a.row_ptr[i] + part * most;
          std::int64_t const row_end = a.row_ptr[i + 1];
          V const sum = dot(a.val, a.col, x, k, k + most < row_end ? k + most : row_end, ahead);
          if (part == 0)
            update(y + i, alpha, sum, beta, overwrite);
          else
            left[b] = {i, sum};
          part = i == end ? part + 1 : 0;
        }
      });
}

template <class V, class I, class O>
void spmv(V alpha, csr_adaptive_view<V, I, O> const& a, V const* x, V beta, V* y,
          plan_view const& p) {
  if (p.transposed)
    scatter_lines(alpha, a.row_ptr, a.col, a.val, a.rows, a.cols, a.nnz, x, beta, y, p);
  else
    multiply_blocks(alpha, a, x, beta, y, p);
}

} // namespace

TULLE_INSTANTIATE_SPMV(csr_adaptive)

} // namespace tulle::kernels::TULLE_ISA
