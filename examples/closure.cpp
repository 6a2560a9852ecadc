// SPDX-License-Identifier: Apache-2.0
// Transitive closure: R grows by what was new in R times R, until nothing is (King et al., sec.
// 2.1); then a search from each vertex says the same.
#include <algorithm>
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

// The vertices that i reaches by one edge or more, ascending.
std::vector<int> search(tulle::csr<double> const& edges, int i) {
  std::vector<int> found, todo{i};
  std::vector<bool> seen(edges.rows);
  while (!todo.empty()) {
    int const at = todo.back();
    todo.pop_back();
    for (int k = edges.row_ptr[at]; k < edges.row_ptr[at + 1]; ++k)
      if (int const j = edges.col[k]; !seen[j]) {
        seen[j] = true;
        found.push_back(j);
        todo.push_back(j);
      }
  }
  std::sort(found.begin(), found.end());
  return found;
}

int main() {
  auto const edges = tulle::generate("rmat:9:2");
  int const n = edges.rows;
  auto reach = tulle::dynamic_csr<double>::from_csr(edges.view());
  auto fresh = edges; // a longer way begins with one of the longest so far, which were new
  for (int steps = 2; !fresh.val.empty(); steps *= 2) {
    auto const product = tulle::spgemm(tulle::or_and(), fresh, reach.to_csr());
    std::vector<int> row, col;
    for (int i = 0; i < n; ++i)
      for (int k = product.row_ptr[i]; k < product.row_ptr[i + 1]; ++k)
        if (reach.at(i, product.col[k]) == 0) {
          row.push_back(i);
          col.push_back(product.col[k]);
        }
    std::vector<double> const ones(row.size(), 1.0);
    reach.insert(row, col, ones);
    fresh = tulle::from_triplets<double>(n, n, row, col, ones);
    std::printf("up to %2d steps: %zu new, %zu pairs\n", steps, row.size(), reach.shape().entries);
  }
  auto const all = reach.to_csr();
  bool same = true;
  for (int i = 0; i < n; ++i) {
    auto const found = search(edges, i);
    same = same && std::equal(found.begin(), found.end(), all.col.data() + all.row_ptr[i],
                              all.col.data() + all.row_ptr[i + 1]);
  }
  std::printf("%s\n", same ? "as by search" : "NOT as by search");
  return same ? 0 : 1;
}
