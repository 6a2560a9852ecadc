// SPDX-License-Identifier: Apache-2.0

// Only what is installed: every public header by the umbrella, a conversion, a product.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  tulle::csr<double> const a(2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3});
  auto const b = tulle::convert(tulle::any_matrix(a), tulle::format_of("csc"));
  std::vector<double> const x = {1, 10, 100};
  std::vector<double> y(2);
  tulle::spmv(1.0, b, x, 0.0, y);
  std::printf("%s %g %g\n", tulle::spmv_plan(b).path().c_str(), y[0], y[1]);
  return y[0] == 201 && y[1] == 30 ? 0 : 1;
}
