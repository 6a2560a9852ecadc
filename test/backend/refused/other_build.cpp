// SPDX-License-Identifier: Apache-2.0

// A module of another build: nothing of its table but the version may be read.
#include "backend/backend.hpp"

extern "C" __attribute__((visibility("default"))) tulle::backend_table const* tulle_backend() {
  static tulle::backend_table const table = [] {
    tulle::backend_table t{};
    t.version = "0 of another build";
    t.backend = tulle::backend::opencl;
    return t;
  }();
  return &table;
}
