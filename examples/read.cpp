// SPDX-License-Identifier: Apache-2.0
// A file of any kind in, Matrix Market out, and formats chosen at run time.
#include <cstdio>
#include <tulle/tulle.hpp>

int main(int argc, char** argv) try {
  char const* const path = argc > 1 ? argv[1] : "example.mtx.gz";
  if (argc == 1) {
    auto const made = tulle::generate("fem:300");
    tulle::write_matrix_market(path, made.view());
  }
  tulle::any_matrix const a = tulle::read_matrix<double>(path);
  for (tulle::format const f : tulle::all_formats)
    std::printf("%-4s %zu bytes\n", name(f), tulle::convert(a, f).bytes());
} catch (tulle::error const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
