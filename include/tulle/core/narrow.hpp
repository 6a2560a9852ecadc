// SPDX-License-Identifier: Apache-2.0

/// Checked conversion between integer types.
#pragma once
#include "tulle/core/fail.hpp"

#include <utility>

namespace tulle {

/// n as a To, or errc::overflow naming what did not fit.
template <class To, class From>
constexpr To narrow(From n, char const* what = "a size") {
  if (!std::in_range<To>(n)) {
    if constexpr (std::in_range<long long>(From(-1)))
      fail(errc::overflow, "%s is %lld, which does not fit a %d-bit index", what,
           static_cast<long long>(n), static_cast<int>(8 * sizeof(To)));
    else
      fail(errc::overflow, "%s is %llu, which does not fit a %d-bit index", what,
           static_cast<unsigned long long>(n), static_cast<int>(8 * sizeof(To)));
  }
  return static_cast<To>(n);
}

/// a * b in size_t, or errc::overflow.
constexpr std::size_t checked_mul(std::size_t a, std::size_t b, char const* what = "a size") {
  std::size_t r = 0;
  if (__builtin_mul_overflow(a, b, &r))
    fail(errc::overflow, "%s: %zu times %zu does not fit 64 bits", what, a, b);
  return r;
}

} // namespace tulle
