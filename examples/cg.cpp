// SPDX-License-Identifier: Apache-2.0
// Solve A x = b. The residual that is told is that of the x returned, not the recurrence's.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  auto a = tulle::generate("poisson2d5:100");
  std::vector<double> b(a.rows, 1.0), x(a.cols, 0.0);
  auto r = tulle::cg(a, b, x, {.tolerance = 1e-8}); // x: first guess in, answer out
  std::printf("csr: %zu iterations, true residual %.2e\n", r.iterations, r.true_residual);

  // Units that differ from row to row, S A S, cost iterations; the diagonal takes them out again.
  auto const s = [](int i) { return 1.0 + i % 10; };
  for (int i = 0; i < a.rows; ++i)
    for (int k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      a.val[k] *= s(i) * s(a.col[k]);
  for (bool const jacobi : {false, true}) {
    x.assign(x.size(), 0.0);
    r = tulle::cg(tulle::cpu{.threads = 2}, a, b, x, {.jacobi = jacobi});
    std::printf("%s: %zu iterations\n", jacobi ? "jacobi" : "scaled", r.iterations);
  }

  try {
    tulle::cg(tulle::scaled(a, -1.0), b, x);
  } catch (tulle::error const& e) {
    std::printf("%s\n", e.what()); // cg: the matrix is not positive definite: ...
  }
}
