// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/formats.md.
#include <cstdio>
#include <tulle/tulle.hpp>

int main() {
  auto const a = tulle::generate("diffusion2d5:100");

  // [typed]
  auto const s =
      tulle::sell<double>::from_csr(a.view(), {.chunk = 16}); // type known when compiling
  tulle::csr<double> const back = s.to_csr();
  // [/typed]

  // [any]
  tulle::any_matrix const m = tulle::convert(a, {tulle::format::sell, "chunk=16"}); // at run time
  for (tulle::named_array const& array : tulle::arrays(m))
    if (array.size != 0)
      std::printf("%s: %zu of %s\n", array.name, array.size, name(array.element));
  // [/any]
  std::printf("%d %zu\n", back == a, s.bytes());
}
