// SPDX-License-Identifier: Apache-2.0

// A module that finds no device, or says why: TULLE_TEST_NO_DRIVER=1.
#include "backend/backend.hpp"

#include <cstdlib>

extern "C" __attribute__((visibility("default"))) tulle::backend_table const* tulle_backend() {
  static tulle::backend_table const table = [] {
    tulle::backend_table t{};
    t.version = tulle::backend_version;
    t.backend = tulle::backend::opencl;
    t.count = [](int& devices) -> tulle::outcome {
      devices = 0;
      if (std::getenv("TULLE_TEST_NO_DRIVER"))
        return {tulle::outcome::failed, tulle::errc::backend, "the driver is too old"};
      return {};
    };
    return t;
  }();
  return &table;
}
