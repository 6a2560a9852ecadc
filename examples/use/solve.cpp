// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/solve.md.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  // [cg]
  auto const a = tulle::generate("diffusion2d5:100"); // symmetric positive definite
  std::vector<double> b(a.rows, 1.0), x(a.cols, 0.0); // x: the first guess
  auto const r = tulle::cg(a, b, x, {.tolerance = 1e-10, .jacobi = true});
  std::printf("%s after %zu iterations, residual %.1e\n", r.converged ? "solved" : "not solved",
              r.iterations, r.true_residual);
  // [/cg]

  // [optimize]
  auto const fast = tulle::optimize(a, {.calls = double(r.iterations)});
  x.assign(x.size(), 0.0);
  tulle::cg(tulle::cpu{.threads = 2}, fast, b, x);
  // [/optimize]

  // [progress]
  auto const told = [](void*, std::size_t iteration, double residual) {
    if (iteration % 100 == 0)
      std::printf("%zu: %.1e\n", iteration, residual);
  };
  tulle::cg(a, b, x, {.most_iterations = 1000, .progress = {told, nullptr}});
  // [/progress]
}
