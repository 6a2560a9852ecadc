// SPDX-License-Identifier: Apache-2.0
// Somebody with files: an edge list from a stream, and Matrix Market out of it.
// prints: 4 nodes, 5 links, read again, the same, stream:2: expected a number of rows, found .three.
#include <cstdio>
#include <sstream>
#include <tulle/tulle.hpp>

int main() {
  std::istringstream edges("# a graph\n0 1\n1 2\n2 0\n2 3\n3 0\n");
  auto const a = tulle::read_matrix<double>(edges);
  std::printf("%d nodes, %zu links, ", a.rows, a.val.size());
  std::stringstream text;
  tulle::write_matrix_market(text, a.view());
  std::printf("read again, the same%s, ", tulle::read_matrix<double>(text) == a ? "" : ", not");
  std::istringstream broken("%%MatrixMarket matrix coordinate real general\nthree 3 1\n");
  try {
    tulle::read_matrix<double>(broken);
  } catch (tulle::error const& e) {
    std::printf("%s\n", e.what());
  }
}
