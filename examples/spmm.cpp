// SPDX-License-Identifier: Apache-2.0

// C = A B for several right-hand sides at once, with a plan; then of a matrix that has grown.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  tulle::csr<double> const a = tulle::generate("poisson2d5:3");
  std::size_t const n = 9, columns = 4;
  std::vector<double> x(n * columns), y(n * columns);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      x[i * columns + j] = i == j; // the first columns of the identity: of A too, then
  auto const b = tulle::row_major(x.data(), n, columns);
  auto const c = tulle::row_major(y.data(), n, columns);

  tulle::spmm_plan plan(tulle::cpu{.threads = 2}, a, b, c); // once
  tulle::spmm(plan, 1.0, a, b, 0.0, c);                     // as often as you like
  std::printf("%s\n", plan.path().c_str());
  std::printf("%g %g %g %g\n", c(0, 0), c(0, 1), c(0, 2), c(0, 3));

  auto grows = tulle::dynamic_csr<double>::from_csr(a.view());
  grows.insert(0, 2, 7.0);
  tulle::spmm(1.0, grows, b, 0.0, c); // on its fragments
  std::printf("%g %g %g %g\n", c(0, 0), c(0, 1), c(0, 2), c(0, 3));
}
