// SPDX-License-Identifier: Apache-2.0

/// "csr5: col", for messages of checks: without memory, since a check is part of many operations.
#pragma once
#include <cstdio>

namespace tulle::detail {

struct label {
  char text[64];

  label(char const* format, char const* array) {
    std::snprintf(text, sizeof text, "%s: %s", format, array);
  }
  operator char const*() const { return text; }
};

} // namespace tulle::detail
