// SPDX-License-Identifier: Apache-2.0

// A module of this build for another backend than it is loaded as.
#include "backend/backend.hpp"

extern "C" __attribute__((visibility("default"))) tulle::backend_table const* tulle_backend() {
  static tulle::backend_table const table = [] {
    tulle::backend_table t{};
    t.version = tulle::backend_version;
    t.backend = tulle::backend::cuda;
    return t;
  }();
  return &table;
}
