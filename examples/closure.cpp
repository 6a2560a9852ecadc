// SPDX-License-Identifier: Apache-2.0
// Transitive closure by squaring: R = R or R R, until nothing new is reached.
#include <cstdio>
#include <tulle/tulle.hpp>

int main() {
  auto reach = tulle::generate("banded:64:1"); // a line of 64 nodes, each with its neighbours
  for (int step = 1;; ++step) {
    auto const next =
        tulle::spgemm(tulle::or_and(), reach, reach); // the diagonal keeps what is there
    std::printf("after %2d steps: %zu pairs\n", 1 << step, next.val.size());
    if (next.val.size() == reach.val.size())
      break;
    reach = next;
  }
}
