// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/start.md.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  // [borrow]
  // 1 . 2      CSR, counted from 0: where each row begins, the columns, the values
  // . 3 .
  std::vector<int> row_ptr{0, 2, 3}, col{0, 2, 1};
  std::vector<double> val{1, 2, 3};
  tulle::csr_view const a(2, 3, row_ptr, col, val); // checked once, not copied

  std::vector<double> x{1, 10, 100}, y(2);
  tulle::spmv(1.0, a, x, 0.0, y); // y = 1 A x + 0 y
  // [/borrow]
  std::printf("%g %g\n", y[0], y[1]);

  // [optimize]
  auto best = tulle::optimize(a, {.calls = 1000}); // how many products are to come
  tulle::spmv(1.0, best, x, 0.0, y);
  // [/optimize]
  std::printf("%g %g\n", y[0], y[1]);

  // [plan]
  tulle::spmv_plan plan(best); // threads share the work in a way that is computed here
  for (int step = 0; step < 10; ++step)
    tulle::spmv(plan, 1.0, best, x, 0.0, y); // allocates nothing
  // [/plan]
  std::printf("%g %g\n", y[0], y[1]);

  // [transposed]
  std::vector<double> z(3);
  tulle::spmv(1.0, tulle::transposed(a), y, 0.0, z); // z = A^T y
  // [/transposed]
  std::printf("%g %g %g\n", z[0], z[1], z[2]);

  // [error]
  try {
    tulle::spmv(1.0, a, y, 0.0, y);
  } catch (tulle::error const& e) {
    std::printf("%s: %s\n", name(e.code()), e.what());
  }
  // [/error]
}
