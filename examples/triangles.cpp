// SPDX-License-Identifier: Apache-2.0
// Triangles of a graph: with L the part below the diagonal, the paths i > k > j of two edges whose
// ends share an edge too. Only places of L are computed, and values are not looked at.
#include <cstdio>
#include <numeric>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  auto const graph = tulle::generate("rmat:10:8");
  auto const both = tulle::add(1.0, graph, 1.0, tulle::transpose(graph)); // edges have no direction
  std::vector<std::int32_t> row, col;
  for (std::int32_t i = 0; i < both.rows; ++i)
    for (std::int32_t k = both.row_ptr[i]; k < both.row_ptr[i + 1] && both.col[k] < i; ++k) {
      row.push_back(i);
      col.push_back(both.col[k]);
    }
  std::vector<double> const val(row.size(), 1.0);
  auto const l = tulle::from_triplets<double>(both.rows, both.cols, row, col, val);

  auto const c = tulle::spgemm(tulle::mask(l), tulle::plus_pair(), l, l);
  std::printf("%zu edges, %.0f triangles\n", l.val.size(),
              std::accumulate(c.val.begin(), c.val.end(), 0.0));
}
