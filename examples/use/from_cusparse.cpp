// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/from-cusparse.md. Without a GPU it says what is missing.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  if (tulle::devices(tulle::backend::cuda).empty()) {
    std::printf("no GPU: %s\n", tulle::backend_state(tulle::backend::cuda).c_str());
    return 0;
  }
  auto const host = tulle::generate("diffusion2d5:100");
  auto const up = tulle::upload(host);
  auto const there = up.view<tulle::csr_view<double, int, int, tulle::space::cuda>>();
  int const m = there.rows, n = there.cols, nnz = there.nnz;
  tulle::device_array<double> xs(std::vector<double>(n, 1.0)), ys(m);
  int const *row_ptr = there.row_ptr, *col = there.col;
  double const* val = there.val;
  double *x = xs.data(), *y = ys.data();
  void* stream = nullptr;

  // [spmv]
  // cusparseCreateCsr(&a, m, n, nnz, row_ptr, col, val, ...), cusparseCreateDnVec(&vx, n, x, ...)
  using tulle::space;
  tulle::csr_view<double, int, int, space::cuda> const a(tulle::unchecked, m, n, nnz, row_ptr, col,
                                                         val);
  tulle::vector_view<double const, space::cuda> const vx(x, n);
  tulle::vector_view<double, space::cuda> const vy(y, m);

  // cusparseSpMV_bufferSize(...), cudaMalloc(&buffer, ...), cusparseSpMV_preprocess(...)
  tulle::spmv_plan plan(tulle::cuda{.stream = stream}, a); // with the buffer

  // cusparseSetStream(handle, stream), cusparseSpMV(handle, op, &alpha, a, vx, &beta, vy, ...)
  tulle::spmv(plan, 1.0, a, vx, 0.0, vy);
  // [/spmv]

  // [spgemm]
  // cusparseSpGEMM_workEstimation, _compute twice each, cudaMalloc of C, _copy
  tulle::device_matrix const c = tulle::spgemm(up, up);
  auto const arrays = c.view<tulle::csr_view<double, int, int, space::cuda>>(); // device pointers

  // cusparseSpGEMMreuse_*: new values on the same patterns
  auto reuse = tulle::spgemm_plan(up, up);
  tulle::spgemm(reuse, up, up);
  // [/spgemm]
  tulle::synchronize();
  std::printf("%s, %d\n", plan.path().c_str(), arrays.nnz);
}
