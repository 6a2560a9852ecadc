// SPDX-License-Identifier: Apache-2.0

// gtest's main, and a skip by name where the instruction set or the device asked for is one that
// this machine lacks.
#include "tulle/core/device.hpp"
#include "tulle/core/machine.hpp"
#include "tulle/core/parallel.hpp"

#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string_view>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (char const* const wanted = std::getenv("TULLE_ISA"))
    for (tulle::isa const i : {tulle::isa::baseline, tulle::isa::avx2, tulle::isa::avx512})
      if (std::string_view(wanted) == tulle::name(i) && !tulle::has(i)) {
        std::printf("skipped: this processor does not run %s\n", wanted);
        return 77;
      }
  if (std::getenv("TULLE_TEST_ON_CUDA") && tulle::devices(tulle::backend::cuda).empty()) {
    std::printf("skipped: cuda: %s\n", tulle::backend_state(tulle::backend::cuda).c_str());
    return 77;
  }
  tulle::detail::set_work_per_thread(1);
  return RUN_ALL_TESTS();
}
