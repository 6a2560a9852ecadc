// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/parallel.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <omp.h>

namespace tulle {

int default_threads() noexcept {
  // Read once: getenv beside a setenv of another thread is a race.
  static int const forced = [] {
    int n = 0;
    if (char const* text = std::getenv("TULLE_THREADS"))
      std::from_chars(text, text + std::strlen(text), n);
    return n;
  }();
  return forced > 0 ? forced : omp_get_max_threads();
}

namespace detail {

void run_parallel(int parts, void* context, void (*body)(void*, int)) {
  if (parts == 1) // here and not in the header, where each body would be compiled twice
    return body(context, 0);
  std::exception_ptr first;
  int first_part = parts;
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int part = 0; part < parts; ++part) {
    try {
      body(context, part);
    } catch (...) {
#pragma omp critical(tulle_run_parallel)
      if (part < first_part) {
        first_part = part;
        first = std::current_exception();
      }
    }
  }
  if (first)
    std::rethrow_exception(first);
}

} // namespace detail
} // namespace tulle
