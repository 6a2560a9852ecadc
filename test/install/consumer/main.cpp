// SPDX-License-Identifier: Apache-2.0

// Only what is installed: every public header by the umbrella, a conversion, a product, an error that is caught here, and the
// version of headers and library, which is that of the argument.
#include <cstdio>
#include <string>
#include <tulle/tulle.hpp>
#include <vector>

int main(int, char** argv) {
  tulle::csr<double> const a(2, 3, {0, 2, 3}, {0, 2, 1}, {1, 2, 3});
  auto const b = tulle::convert(tulle::any_matrix(a), tulle::format_of("csc"));
  std::vector<double> const x = {1, 10, 100};
  std::vector<double> y(2);
  tulle::spmv(1.0, b, x, 0.0, y);
  std::printf("%s %g %g\n", tulle::spmv_plan(b).path().c_str(), y[0], y[1]);
  if (y[0] != 201 || y[1] != 30)
    return 1;
  try {
    tulle::spmv(1.0, b, y, 0.0, y);
    return 2;
  } catch (tulle::error const& e) {
    if (e.code() != tulle::errc::shape_mismatch)
      return 3;
  }
  std::string const version = argv[1];
  return version == TULLE_VERSION_STRING && version == tulle::version() ? 0 : 4;
}
