// SPDX-License-Identifier: Apache-2.0
// A solver author: CSR arrays of one's own, a plan, conjugate gradients by hand.
// prints: solved in [0-9]+ steps
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  int const n = 100;
  std::vector<int> ptr = {0}, col;
  std::vector<double> val;
  for (int i = 0; i < n; ++i) { // 2.5 on the diagonal, -1 beside it
    for (int j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j)
      col.push_back(j), val.push_back(i == j ? 2.5 : -1);
    ptr.push_back(static_cast<int>(col.size()));
  }
  tulle::csr_view<double> const a(n, n, ptr, col, val);
  tulle::spmv_plan plan(a);
  std::vector<double> x(n), r(n, 1.0), p = r, q(n);
  auto const dot = [](auto const& u, auto const& v) {
    return std::inner_product(u.begin(), u.end(), v.begin(), 0.0);
  };
  int steps = 0;
  for (double rr = dot(r, r); std::sqrt(rr) > 1e-10 && steps < n; ++steps) {
    tulle::spmv(plan, 1.0, a, p, 0.0, q);
    double const alpha = rr / dot(p, q), before = rr;
    for (int i = 0; i < n; ++i)
      x[i] += alpha * p[i], r[i] -= alpha * q[i];
    rr = dot(r, r);
    for (int i = 0; i < n; ++i)
      p[i] = r[i] + rr / before * p[i];
  }
  tulle::spmv(plan, 1.0, a, x, 0.0, q);
  double const worst = std::abs(*std::max_element(q.begin(), q.end()) - 1);
  std::printf(worst < 1e-9 ? "solved in %d steps\n" : "not solved in %d steps\n", steps);
}
