// SPDX-License-Identifier: Apache-2.0

// The layout that suits a matrix, and why.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  tulle::csr<double> const a = tulle::generate("poisson2d5:300");

  // 500 products will pay for a conversion.
  tulle::optimized const best = tulle::optimize(a, {.calls = 500});
  std::printf("%s it is:\n%s", name(best.considered().front().layout).c_str(), best.why().c_str());

  std::vector<double> const x(best.cols(), 1);
  std::vector<double> y(best.rows());
  tulle::spmv(1.0, best, x, 0.0, y);
  std::printf("y[0] = %g\n", y[0]);
}
