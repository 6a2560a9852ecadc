// SPDX-License-Identifier: Apache-2.0
// Your own arrays, without a copy. The view checks them once; after that nothing is looked at
// twice.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  std::vector<long long> row_ptr{0, 2, 3}; // any integers of 32 or 64 bits
  std::vector<unsigned> col{0, 2, 1};
  float val[] = {1, 2, 3};
  tulle::csr_view const a(2, 3, row_ptr, col, val);
  std::vector<float> const x{1, 10, 100};
  std::vector<float> y(2);
  tulle::spmv(1, a, x, 0, y);
  std::printf("%g %g\n", y[0], y[1]);

  // Pointers: row_ptr says how many entries there are.
  tulle::csr_view const b(2, 3, row_ptr.data(), col.data(), &val[0]);
  tulle::spmv(1, b, x, 0, y);
  std::printf("%g %g\n", y[0], y[1]);

  // Counted from 1, of other integers, or about to vanish: copied.
  short const from_1[] = {1, 3, 4};
  auto const c = tulle::csr_from(2, 3, from_1, std::vector<int>{1, 3, 2}, val, {.base = 1});
  tulle::spmv(1, c, x, 0, y);
  std::printf("%g %g\n", y[0], y[1]);

  col[2] = 7; // outside the matrix
  try {
    tulle::csr_view<float, std::int32_t, std::int64_t>(2, 3, row_ptr, col, val);
  } catch (tulle::error const& e) {
    std::printf("%s: %s\n", name(e.code()), e.what());
  }
}
