// SPDX-License-Identifier: Apache-2.0

// What products of dynamic matrices ask of x and y, here and on a device.
#pragma once
#include "tulle/core/error.hpp"

#include <cstddef>

namespace tulle::detail {

template <class I>
void check_sizes(I rows, I cols, std::size_t x, std::size_t y) {
  if (x != static_cast<std::size_t>(cols))
    fail(errc::shape_mismatch, "spmv: x has %zu entries but A has %lld columns", x,
         static_cast<long long>(cols));
  if (y != static_cast<std::size_t>(rows))
    fail(errc::shape_mismatch, "spmv: y has %zu entries but A has %lld rows", y,
         static_cast<long long>(rows));
}

} // namespace tulle::detail
