// SPDX-License-Identifier: Apache-2.0
// The coarse matrix of a multigrid method: P^T A P for a 2D Poisson problem, aggregates of 3 x 3
// smoothed by one step of Jacobi, P = (I - 2/3 D^-1 A) T. Both orders, and what is chosen.
#include <chrono>
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  std::int32_t const n = 300;
  auto const a = tulle::generate("poisson2d5:300");
  std::vector<std::int32_t> row, col;
  for (std::int32_t i = 0; i < n * n; ++i) {
    row.push_back(i);
    col.push_back(i / n / 3 * (n / 3) + i % n / 3);
  }
  std::vector<double> const ones(row.size(), 1.0);
  auto const t = tulle::from_triplets<double>(n * n, n / 3 * (n / 3), row, col, ones);
  auto const p = tulle::spgemm(-2.0 / 3 / 4, a, t, 1.0, t); // the diagonal of A is 4

  using order = tulle::galerkin_order;
  for (auto const o : {order::ra_first, order::ap_first, order::automatic}) {
    auto const start = std::chrono::steady_clock::now();
    auto const coarse = tulle::galerkin(a, p, {.order = o});
    std::chrono::duration<double, std::milli> const took = std::chrono::steady_clock::now() - start;
    std::printf("%s: %d rows, %zu entries, %.1f ms\n",
                o == order::ra_first   ? "(R A) P"
                : o == order::ap_first ? "R (A P)"
                                       : "chosen",
                coarse.rows, coarse.val.size(), took.count());
  }
}
