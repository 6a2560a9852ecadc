// SPDX-License-Identifier: Apache-2.0
// Build a matrix, multiply, print.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  // 1 . 2 .
  // . 3 . .
  // . . . 4
  // 5 6 7 .
  tulle::csr<double> const a(4, 4, {0, 2, 3, 4, 7}, {0, 2, 1, 3, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7});
  std::vector<double> const x{1, 1, 1, 1};
  std::vector<double> y(4);
  tulle::spmv(1.0, a, x, 0.0, y);                    // y = A x
  tulle::spmv(2.0, tulle::transposed(a), x, 1.0, y); // y += 2 A^T x
  for (double const v : y)
    std::printf("%g\n", v);
}
