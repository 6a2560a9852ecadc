// SPDX-License-Identifier: Apache-2.0
// Finite elements: -div grad u = 0 on the unit square, u = x + 2 y given on its boundary.
#include <array>
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  int const n = 40, nodes = (n + 1) * (n + 1); // n x n squares, four nodes each
  std::array<double, 16> const stiffness{4,  -1, -2, -1, -1, 4,  -1, -2,
                                         -2, -1, 4,  -1, -1, -2, -1, 4};
  std::vector<std::array<int, 4>> corners;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      int const at = j * (n + 1) + i;
      corners.push_back({at, at + 1, at + n + 2, at + n + 1});
    }
  std::vector<tulle::element<double, int>> elements;
  for (auto const& c : corners)
    elements.push_back({c, c, stiffness});
  auto a = tulle::assemble<double>(nodes, nodes, elements);

  std::vector<double> exact(nodes), u(nodes), b(nodes), given;
  std::vector<int> boundary;
  for (int k = 0; k < nodes; ++k) {
    int const i = k % (n + 1), j = k / (n + 1);
    exact[k] = double(i) / n + 2.0 * j / n;
    if (i == 0 || j == 0 || i == n || j == n) {
      boundary.push_back(k);
      given.push_back(exact[k]);
    }
  }
  tulle::dirichlet(a, boundary, given, b); // a stays symmetric, and its pattern as it was
  auto const r = tulle::cg(a, b, u, {.tolerance = 1e-12});
  tulle::axpy(-1.0, exact, u);
  std::printf("%zu iterations, error %s\n", r.iterations, tulle::norm_inf(u) < 1e-9 ? "none" : "!");
}
