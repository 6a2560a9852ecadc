// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/performance.md.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  auto a = tulle::generate("diffusion2d5:300");
  std::vector<double> x(a.cols, 1.0), y(a.rows);

  // [threads]
  tulle::limit_threads(8);                                  // no call uses more from now on
  tulle::spmv(tulle::cpu{.threads = 2}, 1.0, a, x, 0.0, y); // this one uses two at most
  // [/threads]

  // [method]
  for (tulle::spmv_method const m : tulle::spmv_methods(tulle::format::csr)) {
    tulle::spmv_plan plan(a, {.method = m});
    std::printf("%s\n", plan.path().c_str());
  }
  // [/method]

  // [memory]
  tulle::recycling_memory kept;
  for (int step = 0; step < 3; ++step)
    a = tulle::transpose(tulle::cpu{.memory = &kept}, a); // the first two take fresh memory
  // [/memory]
  std::printf("%d\n", a.rows);
  a = tulle::csr<double>(); // before the memory that it came from
}
