// SPDX-License-Identifier: Apache-2.0

// Time steps change values, not patterns: refill keeps the layout, and the plan stays good.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  tulle::csr<double> a = tulle::generate("poisson2d5:100");
  tulle::any_matrix fast = tulle::optimize(a, {.values_change = true});
  tulle::spmv_plan plan(fast);

  std::vector<double> const x(fast.cols(), 1);
  std::vector<double> y(fast.rows());
  for (int step = 0; step < 3; ++step) {
    tulle::spmv(plan, 1.0, fast, x, 0.0, y);
    std::printf("step %d: y[0] = %g\n", step, y[0]);
    for (double& v : a.val)
      v *= 2;
    fast.refill(a);
  }
}
