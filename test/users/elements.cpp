// SPDX-License-Identifier: Apache-2.0
// Finite elements: a bar of springs, clamped at one end and pulled at the other.
// prints: the end moved by 10.000
#include <array>
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  int const springs = 20;
  tulle::element_list<double, int> all;
  for (int e = 0; e < springs; ++e)
    all.add(std::array{e, e + 1}, std::array{2.0, -2.0, -2.0, 2.0}); // copied
  auto stiffness = tulle::assemble(springs + 1, springs + 1, all);
  std::vector<double> force(springs + 1), moved(springs + 1);
  force[springs] = 1;
  std::vector<int> const clamped{0};
  std::vector<double> const by{0.0};
  tulle::dirichlet(stiffness, clamped, by, force);
  tulle::cg(stiffness, force, moved, {.tolerance = 1e-12});
  std::printf("the end moved by %.3f\n", moved[springs]);
}
