// SPDX-License-Identifier: Apache-2.0
// The coarse matrix of a multigrid method: P^T A P for the four Poisson problems of Liu's thesis,
// sec. 9.5.1, aggregates of three points a direction smoothed by one step of Jacobi,
// P = (I - 2/3 D^-1 A) T. Both orders, what is chosen, and what is done within 4 MiB.
#include <chrono>
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

using order = tulle::galerkin_order;

/// The aggregate of each point of a grid of n points a direction.
tulle::csr<double> aggregates(std::int32_t n, int directions, std::int32_t points) {
  std::vector<std::int32_t> row, col;
  std::int32_t all = 1;
  for (int d = 0; d < directions; ++d)
    all *= n / 3;
  for (std::int32_t i = 0; i < points; ++i) {
    std::int32_t const x = i % n / 3, y = i / n % n / 3, z = i / n / n / 3;
    row.push_back(i);
    col.push_back((z * (n / 3) + y) * (n / 3) + x);
  }
  return tulle::from_triplets<double>(points, all, row, col, std::vector<double>(row.size(), 1.0));
}

void coarsen(char const* name, std::int32_t n, int directions) {
  auto const a = tulle::generate(name);
  auto const t = aggregates(n, directions, a.rows);
  auto const p = tulle::spgemm(-2.0 / 3 / a.val[0], a, t, 1.0, t); // the diagonal is all the same
  auto const r = tulle::transpose(p);
  auto const run = [&](tulle::cpu const& where, order o) {
    auto const start = std::chrono::steady_clock::now();
    auto const coarse = tulle::galerkin(where, r, a, p, {.order = o});
    std::chrono::duration<double, std::milli> const took = std::chrono::steady_clock::now() - start;
    std::printf("%s %s: %d rows, %zu entries, %.1f ms\n", name,
                tulle::galerkin_road_of(where, r, a, p, {.order = o}).path().c_str(), coarse.rows,
                coarse.val.size(), took.count());
  };
  run({}, order::ra_first);
  run({}, order::ap_first);
  run({}, order::automatic);
  run({.workspace_limit = 4 << 20}, order::automatic);
}

int main() {
  coarsen("poisson2d5:300", 300, 2);
  coarsen("poisson2d9:300", 300, 2);
  coarsen("poisson3d7:45", 45, 3);
  coarsen("poisson3d27:45", 45, 3);
}
