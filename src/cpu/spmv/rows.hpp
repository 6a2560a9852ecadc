// SPDX-License-Identifier: Apache-2.0

// What formats with contiguous rows share: sums over a row, tiles of the path through rows and
// entries, and the products of csr.
#pragma once
#include "tulle/core/types.def"

#include "cpu/spmv/row_dot.hpp"
#include "cpu/spmv/row_tiles.hpp"

namespace tulle::kernels::TULLE_ISA {

// product_by_rows() without a plan as compiled with csr.cpp, once, for other formats with rows of
// this kind; and whole rows [i, end) of csr.
#define TULLE_ROWS(tag, V, I, O)                                                                   \
  void multiply_rows(V alpha, O const* ptr, I const* col, V const* val, std::int64_t rows,         \
                     std::int64_t nnz, V const* x, V beta, V* y, plan_view const& p);
TULLE_TYPES(TULLE_ROWS)
TULLE_BASIC_TYPES(TULLE_ROWS)
#undef TULLE_ROWS
#define TULLE_SOME_ROWS(tag, V, I, O)                                                              \
  void multiply_some_rows(V alpha, O const* ptr, I const* col, V const* val, std::int64_t rows,    \
                          std::int64_t nnz, V const* x, V beta, V* y, bool overwrite,              \
                          std::int64_t i, std::int64_t end);
TULLE_TYPES(TULLE_SOME_ROWS)
#undef TULLE_SOME_ROWS

} // namespace tulle::kernels::TULLE_ISA
