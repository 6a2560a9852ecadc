// SPDX-License-Identifier: Apache-2.0

/// Raises errors without including <string>, for format headers and code next to kernels.
#pragma once
#include "tulle/version.hpp"

namespace tulle {

/// What went wrong, in one word. The numbers are those of the C interface.
enum class errc {
  shape_mismatch = 1, ///< operands whose sizes do not fit each other
  bad_structure,      ///< arrays that are not the matrix they claim to be
  overflow,           ///< a number that does not fit its type
  out_of_memory,      ///< an allocation failed, or would pass a limit
  unsupported,        ///< nothing is built for this
  backend,            ///< a device or its driver failed
  io,                 ///< a file that cannot be read or written
  stopped,            ///< another thread asked for it: core/stop.hpp
};

/// Throws tulle::error with a message made as by printf.
[[noreturn]] [[gnu::format(printf, 2, 3)]] void fail(errc code, char const* format, ...);

/// For mistakes of our own; off in release builds.
#ifdef NDEBUG
#define TULLE_ASSERT(condition) ((void)0)
#else
#define TULLE_ASSERT(condition)                                                                    \
  ((condition) ? (void)0 : ::tulle::assertion_failed(#condition, __FILE__, __LINE__))
#endif
[[noreturn]] void assertion_failed(char const* condition, char const* file, int line);

} // namespace tulle
