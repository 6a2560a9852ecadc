// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/plans.md.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  tulle::csr<double> a = tulle::generate("diffusion2d5:100");
  std::vector<double> x(a.cols, 1.0), y(a.rows);

  // [make]
  tulle::spmv_plan plan(tulle::cpu{.threads = 2}, a);
  tulle::spmv(plan, 1.0, a, x, 0.0, y);
  std::printf("%s\n", plan.path().c_str()); // cpu/avx2 csr rows: 76 equal, 5 plain, 2 threads
  // [/make]

  // [cost]
  std::printf("made in %g s, keeps %zu bytes\n", plan.seconds(), plan.bytes());
  // [/cost]

  // [values]
  for (double& v : a.val)
    v *= 2;
  tulle::spmv(plan, 1.0, a, x, 0.0, y); // same pattern: still good
  // [/values]

  // [check]
  tulle::csr<double> const b = tulle::generate("random:10000:10000:49600");
  try {
    plan.check(b); // reads all indices
  } catch (tulle::error const& e) {
    std::printf("%s: %s\n", name(e.code()), e.what());
  }
  plan.rebind(b); // the same policy and options, for b
  tulle::spmv(plan, 1.0, b, x, 0.0, y);
  // [/check]

  // [others]
  auto products = tulle::spgemm_plan(a, a);         // patterns of A and B
  auto const& c = tulle::spgemm(products, a, a);    // new values of C; no allocation
  auto sums = tulle::add_plan(a, a);                //
  auto const& s = tulle::add(sums, 1.0, a, 2.0, a); //
  auto turned = tulle::transpose_plan(a);           //
  auto const& t = tulle::transpose(turned, a);
  // [/others]
  std::printf("%zu %zu %zu\n", c.val.size(), s.val.size(), t.val.size());
}
