// SPDX-License-Identifier: Apache-2.0
// Power iteration: one pattern, many products. The plan is made once and says what it does.
#include <cmath>
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  auto const a = tulle::generate("poisson2d5:100");
  auto plan = tulle::spmv_plan(tulle::cpu{.threads = 2}, a);
  std::printf("%s\n", plan.path().c_str());

  std::vector<double> x(static_cast<std::size_t>(a.cols), 1.0);
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = 1.0 + static_cast<double>(i % 7);
  double norm = 0;
  for (int step = 0; step < 1000; ++step) {
    tulle::spmv(plan, 1.0, a, x, 0.0, y); // allocates nothing
    norm = 0;
    for (double const v : y)
      norm += v * v;
    norm = std::sqrt(norm);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = y[i] / norm;
  }
  std::printf("largest eigenvalue about %.3f, below 8\n", norm);
}
