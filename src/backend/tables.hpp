// SPDX-License-Identifier: Apache-2.0

// The table of each backend.
#pragma once
#include "tulle/core/any_matrix.hpp"
#include "tulle/core/device.hpp"

#include "backend/backend.hpp"

#include <vector>

namespace tulle {

extern backend_table const cpu_table, reference_table;

/// That of a device's module, which is loaded once; errc::backend where it cannot be, or no device
/// is there.
backend_table const& device_table(backend b);

inline backend_table const& table_of(backend b) {
  return b == backend::cpu         ? cpu_table
         : b == backend::reference ? reference_table
                                   : device_table(b);
}

inline work_place place_of(device const& d) {
  return {d.number, d.queue, 0};
}
inline work_place place_of(where const& w) {
  return {w.number, w.queue, w.threads};
}

/// What an outcome that is not fine means to a user: errc::backend, errc::out_of_memory, or what
/// was refused.
[[noreturn]] void fail(outcome const& came_to, char const* op);
inline void check(outcome const& came_to, char const* op) {
  if (came_to.code != outcome::fine) [[unlikely]]
    fail(came_to, op);
}

} // namespace tulle
