// SPDX-License-Identifier: Apache-2.0
// Someone who squares matrices within memory that is given, and wants to know where it lacks.
//
// prints: 100 B: out_of_memory\n1 MB: [0-9]+ entries, as ever\nrectangular: shape_mismatch
#include <cstdio>
#include <tulle/tulle.hpp>

int main() {
  auto const a = tulle::generate("gen:rmat:10:8");
  auto const free = tulle::spgemm(a, a);
  for (std::size_t const limit : {100, 1'000'000}) {
    std::printf(limit < 1'000'000 ? "100 B: " : "1 MB: ");
    try {
      auto const c = tulle::spgemm(tulle::cpu{.workspace_limit = limit}, a, a);
      std::printf("%zu entries, %s\n", c.val.size(),
                  c == free ? "as ever" : "but others");
    } catch (tulle::error const& e) {
      std::printf("%s\n", tulle::name(e.code()));
    }
  }
  try {
    tulle::csr<double> const wide(1, 2, {0, 1}, {1}, {1.0});
    tulle::spgemm(wide, a);
  } catch (tulle::error const& e) {
    std::printf("rectangular: %s\n", tulle::name(e.code()));
  }
}
