// SPDX-License-Identifier: Apache-2.0

// fail() within the module, for what it shares with the library's headers: guarded() makes an
// outcome of it, and the library throws that again.
#include "cuda/check.cuh"

#include <cstdarg>
#include <cstdio>

namespace tulle {

void fail(errc code, char const* format, ...) {
  static thread_local char text[512]; // as long as the outcome that points at it is looked at
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  throw kernels::cuda::failure{{outcome::refused, code, text}};
}

} // namespace tulle
