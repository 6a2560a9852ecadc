// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  auto const a = tulle::generate("lattice:100");
  std::vector<double> const x(100, 1.0);
  std::vector<double> y(100);
  tulle::spmv(1.0, a, x, 0.0, y);
  std::printf("tulle %s\n", tulle::version());
}
