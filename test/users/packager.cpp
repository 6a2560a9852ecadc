// SPDX-License-Identifier: Apache-2.0
// A packager: headers and library are of one version, and the program says what it found.
// prints: tulle [0-9.]+, [0-9]+ threads, (baseline|avx2|avx512), cuda: .*
#include <cstdio>
#include <string>
#include <tulle/tulle.hpp>
#include <tulle/version.hpp>

int main() {
  std::string const headers = std::to_string(TULLE_VERSION_MAJOR) + "." +
                              std::to_string(TULLE_VERSION_MINOR) + "." +
                              std::to_string(TULLE_VERSION_PATCH);
  if (headers != tulle::version())
    return 1;
  std::printf("tulle %s, %d threads, %s, cuda: %s\n", headers.c_str(), tulle::default_threads(),
              name(tulle::active_isa()), tulle::backend_state(tulle::backend::cuda).c_str());
}
