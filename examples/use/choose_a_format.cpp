// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/choose-a-format.md.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  tulle::csr<double> a = tulle::generate("diffusion2d5:200");
  std::vector<double> x(a.cols, 1.0), y(a.rows);

  // [recommend]
  for (tulle::candidate const& c : tulle::recommend(a, {.calls = 500}))
    std::printf("%-20s one product %.2f, conversion %.1f %s\n", name(c.layout).c_str(), c.call,
                c.convert, c.remark.c_str()); // in products of csr
  // [/recommend]

  // [optimize]
  tulle::optimized best = tulle::optimize(a, {.calls = 500});
  std::printf("%s", best.why().c_str());
  tulle::spmv(1.0, best, x, 0.0, y);
  // [/optimize]

  // [features]
  tulle::features const f = tulle::look_at(a);
  std::printf("%.1f entries per row; %.0f %% of the entries lie far from the ones before\n",
              f.row_length, 100 * f.far_entries);
  // [/features]

  // [among]
  auto picked = tulle::optimize(
      a,
      {.calls = 500,
       .among = {{tulle::format::sell}, {tulle::format::csr5, "sigma=16"}, {tulle::format::csr}}});
  // [/among]
  std::printf("%s\n", name(picked.format()));

  // [values]
  auto kept = tulle::optimize(a, {.calls = 500, .values_change = true});
  tulle::spmv_plan plan(kept);
  for (int step = 0; step < 3; ++step) {
    for (double& v : a.val)
      v *= 2;
    kept.refill(a); // the same pattern, new values; the plan stays good
    tulle::spmv(plan, 1.0, kept, x, 0.0, y);
  }
  // [/values]
  std::printf("y[0] = %.3f\n", y[0]);

  // [by_hand]
  tulle::any_matrix const sell = tulle::convert(a, tulle::layout::parse("sell:chunk=16"));
  tulle::csr5<double> const tiles = tulle::csr5<double>::from_csr(a.view()); // type known
  tulle::spmv(1.0, tiles, x, 0.0, y);
  // [/by_hand]
  std::printf("%s %s\n", name(sell.format()), tiles.bytes() > 0 ? "csr5" : "?");
}
