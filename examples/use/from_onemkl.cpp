// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/from-onemkl.md.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  // [create]
  // mkl_sparse_d_create_csr(&a, SPARSE_INDEX_BASE_ONE, m, n, start, end, col, val);
  int const m = 2, n = 3;
  std::vector<int> row_ptr{1, 3, 4}, col{1, 3, 2};
  std::vector<double> val{1, 2, 3};
  auto const a = tulle::csr_from(m, n, row_ptr, col, val, {.base = 1}); // copied, from 0 on
  // [/create]

  // [mv]
  // mkl_sparse_set_mv_hint(a, ..., 1000); mkl_sparse_optimize(a);
  // mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, a, descr, x, 0.0, y);
  std::vector<double> x{1, 10, 100}, y(m);
  auto const fast = tulle::optimize(a, {.calls = 1000});
  tulle::spmv_plan plan(fast);
  tulle::spmv(plan, 1.0, fast, x, 0.0, y);
  // [/mv]

  // [spmm]
  // mkl_sparse_spmm(SPARSE_OPERATION_TRANSPOSE, a, a, &c); mkl_sparse_order(c);
  auto const c = tulle::spgemm(tulle::transpose(a), a); // sorted
  // [/spmm]
  std::printf("%g %g %zu\n", y[0], y[1], c.val.size());
}
