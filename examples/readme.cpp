// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  auto const a = tulle::generate("poisson2d5:100"); // or read_matrix_market<double>("cant.mtx.gz")
  std::vector<double> x(a.cols, 1.0), y(a.rows);

  tulle::spmv(1.0, a, x, 0.0, y);                    // y = A x
  tulle::spmv(1.0, tulle::transposed(a), x, 1.0, y); // y += A^T x

  auto plan = tulle::spmv_plan(tulle::cpu{.threads = 2}, a); // once per pattern
  tulle::spmv(plan, 2.0, a, x, 0.0, y);                      // allocates nothing
  std::printf("%s\n", plan.path().c_str());                  // cpu/avx2 csr rows, 2 threads
}
