// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/error.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace tulle {
namespace {

// Made while there is memory: copies of it take none.
error const no_memory(errc::out_of_memory, "out of memory, for the message of this error too");

} // namespace

void fail(errc code, char const* format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int const length = std::vsnprintf(nullptr, 0, format, args);
  va_end(args);
  try {
    std::string message(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
    std::vsnprintf(message.data(), message.size() + 1, format, again);
    va_end(again);
    throw error(code, message);
  } catch (std::bad_alloc const&) {
    throw no_memory;
  }
}

void assertion_failed(char const* condition, char const* file, int line) {
  std::fprintf(stderr, "tulle: %s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}

char const* name(errc code) noexcept {
  switch (code) {
  case errc::shape_mismatch:
    return "shape_mismatch";
  case errc::bad_structure:
    return "bad_structure";
  case errc::overflow:
    return "overflow";
  case errc::out_of_memory:
    return "out_of_memory";
  case errc::unsupported:
    return "unsupported";
  case errc::backend:
    return "backend";
  case errc::io:
    return "io";
  case errc::stopped:
    return "stopped";
  }
  return "?";
}

} // namespace tulle
