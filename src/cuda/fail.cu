// SPDX-License-Identifier: Apache-2.0

// fail() within the module, for headers that it shares with the library: guarded() turns it into an
// outcome, and the library throws that.
#include "cuda/check.cuh"

#include <cstdarg>
#include <cstdio>

namespace tulle {

void fail(errc code, char const* format, ...) {
  static thread_local char text[512]; // lives longer than any use of the outcome that points at it
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  throw kernels::cuda::failure{{outcome::refused, code, text}};
}

} // namespace tulle
