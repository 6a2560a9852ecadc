// SPDX-License-Identifier: Apache-2.0
// Shortest paths from node 0 by products over (min, +).
// prints: node 5 is 9 away, after 4 steps
#include <cstdio>
#include <limits>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  tulle::csr<double> const roads(6, 6, {0, 2, 4, 6, 7, 8, 8}, {1, 2, 2, 3, 3, 4, 5, 5},
                                 {4, 1, 1, 1, 7, 3, 4, 5});
  std::vector<double> away(6, std::numeric_limits<double>::infinity()), before;
  away[0] = 0;
  int steps = 0;
  do {
    before = away;
    tulle::spmv(tulle::min_plus(), tulle::transposed(roads), before, away, {.accumulate = true});
    ++steps;
  } while (away != before);
  std::printf("node 5 is %g away, after %d steps\n", away[5], steps);
}
