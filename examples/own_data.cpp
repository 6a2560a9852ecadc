// SPDX-License-Identifier: Apache-2.0
// Your own arrays, without a copy. The view checks them once; after that nothing is looked at
// twice.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  std::vector<int> row_ptr{0, 2, 3};
  std::vector<int> col{0, 2, 1};
  std::vector<float> val{1, 2, 3};
  tulle::csr_view<float> const a(2, 3, row_ptr, col, val);
  std::vector<float> const x{1, 10, 100};
  std::vector<float> y(2);
  tulle::spmv(1, a, x, 0, y);
  std::printf("%g %g\n", y[0], y[1]);

  col[2] = 7; // outside the matrix
  try {
    tulle::csr_view<float>(2, 3, row_ptr, col, val);
  } catch (tulle::error const& e) {
    std::printf("%s: %s\n", name(e.code()), e.what());
  }
}
