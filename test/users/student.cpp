// SPDX-License-Identifier: Apache-2.0
// A student: what the arrays of a format are, and what each format takes.
// prints: csr5 has .*tile_ptr.* and [0-9]+ formats agree
#include <cstdio>
#include <tulle/tulle.hpp>
#include <vector>

int main() {
  auto const a = tulle::generate("poisson2d5:10");
  tulle::any_matrix const as_csr5 = tulle::convert(a, tulle::layout::parse("csr5:sigma=8"));
  std::printf("csr5 has");
  for (tulle::named_array const& array : tulle::arrays(as_csr5))
    std::printf(" %s", array.name);
  std::vector<double> const x(100, 1.0);
  std::vector<double> expected(100), y(100);
  tulle::spmv(tulle::reference{}, 1.0, a, x, 0.0, expected);
  int agree = 0;
  for (tulle::format const f : tulle::all_formats) {
    tulle::spmv(1.0, tulle::convert(a, f), x, 0.0, y);
    agree += y == expected;
  }
  std::printf(" and %d formats agree\n", agree);
}
