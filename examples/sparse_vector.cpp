// SPDX-License-Identifier: Apache-2.0
// Sparse vectors: from entries in any order, beside a dense vector, and added to each other.
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  std::vector<int> const index{5, 0, 2, 5};
  std::vector<double> const val{2, 1, 2, 1};
  auto const x = tulle::sparse_vector<double>::from_entries(
      6, index, val, {.order = tulle::order::canonicalise}); // the two at 5 add up

  std::vector<double> y{1, 1, 1, 1, 1, 1};
  tulle::axpy(10.0, x, y);
  std::printf("y = %g %g %g %g %g %g, x . y = %g\n", y[0], y[1], y[2], y[3], y[4], y[5],
              tulle::dot(x, y));

  auto const w = tulle::sparse_vector<double>(6, {1, 2}, {7, 2});
  auto const z = tulle::add(1.0, x, -1.0, w); // has the places of both
  for (std::size_t k = 0; k < z.index.size(); ++k)
    std::printf("z[%d] = %g\n", z.index[k], z.val[k]);
  std::printf("norms %g %g\n", tulle::norm1(z), tulle::norm_inf(z));
}
