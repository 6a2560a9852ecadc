// SPDX-License-Identifier: Apache-2.0

/// The version of these headers, and of the library that runs. The build takes its own from here.
#pragma once

#if __cplusplus < 202002L
#error "tulle needs C++20: compile with -std=c++20 or later"
#endif

#define TULLE_VERSION_MAJOR 0
#define TULLE_VERSION_MINOR 1
#define TULLE_VERSION_PATCH 0
#define TULLE_VERSION_STRING "0.1.0"

namespace tulle {

/// The library's own TULLE_VERSION_STRING. Headers and library go together where both name the same
/// minor version; the name of the shared library (libtulle.so.0.1) holds them to it.
char const* version() noexcept;

} // namespace tulle
