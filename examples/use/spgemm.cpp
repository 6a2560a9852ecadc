// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/spgemm.md.
#include <cstdio>
#include <tulle/tulle.hpp>

int main() {
  auto const a = tulle::generate("rmat:10:8"), b = a;

  // [product]
  auto const c = tulle::spgemm(a, b); // rows sorted, memory of C exactly as large as C
  // [/product]

  // [limit]
  using namespace tulle::literals;
  auto const within = tulle::spgemm(tulle::cpu{.workspace_limit = 64_MiB}, a, b);
  // [/limit]

  // [too_small]
  try {
    tulle::spgemm(tulle::cpu{.workspace_limit = 100}, a, b);
  } catch (tulle::error const& e) {
    std::printf("%s: %s\n", name(e.code()), e.what());
  }
  // [/too_small]

  // [forecast]
  auto const f = tulle::spgemm_forecast(a, b);
  std::printf("%zu products, about %.0f entries, at most %zu bytes\n", f.products, f.entries,
              f.peak_bytes);
  if (f.peak_bytes > 8_GiB)
    return 1;
  // [/forecast]

  // [plan]
  auto plan = tulle::spgemm_plan(a, b);          // once per two patterns
  auto const& again = tulle::spgemm(plan, a, b); // new values; allocates nothing
  auto const& result = plan.result<tulle::csr<double>>();
  std::printf("%s\n", plan.path().c_str());
  // [/plan]

  // [more]
  auto const e = tulle::spgemm(2.0, a, b, -1.0, a);             // 2 A B - A
  auto const half = tulle::spgemm_aat(a, {.upper_only = true}); // A A^T, the upper half
  auto const coarse = tulle::galerkin(a, tulle::triu(a));       // P^T A P
  auto const loose = tulle::spgemm(a, b, {.sorted = false});    // rows in any order
  // [/more]
  std::printf("%d %d %d %d\n", within == c, &again == &result, e.val.size() >= c.val.size(),
              half.val.size() < c.val.size());
  std::printf("%d %d\n", coarse.rows == a.rows, loose.val.size() == c.val.size());
}
