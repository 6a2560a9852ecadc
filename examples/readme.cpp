// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  auto const a = tulle::generate("diffusion2d5:300"); // or tulle::read_matrix("cant.mtx.gz")
  std::vector<double> x(a.cols, 1.0), y(a.rows);
  tulle::spmv(1.0, a, x, 0.0, y); // y = A x, CSR as it is

  auto const best = tulle::optimize(a, {.calls = 500}); // the layout that pays off in 500 products
  tulle::spmv_plan plan(best);                          // once per pattern
  tulle::spmv(plan, 1.0, best, x, 0.0, y);              // allocates nothing
  std::printf("%s%s\n", best.why().c_str(), plan.path().c_str());
}
