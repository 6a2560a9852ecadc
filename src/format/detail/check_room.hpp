// SPDX-License-Identifier: Apache-2.0

/// The limit on padding, for formats that pad.
#pragma once
#include "tulle/core/fail.hpp"

#include <cstddef>

namespace tulle::detail {

/// errc::unsupported for a layout of that many bytes where they are more than `limit` times those
/// of csr, before anything is allocated. What takes less than a MiB is never refused.
inline void check_room(char const* format, double bytes, std::size_t csr_bytes, double limit) {
  if (bytes > limit * static_cast<double>(csr_bytes) + (1 << 20))
    fail(errc::unsupported,
         "%s: this matrix would take %.0f bytes, %.3g times those of csr; the option limit is %g",
         format, bytes, bytes / static_cast<double>(csr_bytes), limit);
}

} // namespace tulle::detail
