// SPDX-License-Identifier: Apache-2.0

/// Reduction: one value out of many.
///
///     in       3 1 7 0 4 1 6 3
///     reduce   25
///
/// From   Liu, thesis 2015, sec. 4.3.2.
#pragma once
#include "tulle/version.hpp"

#include <cstddef>

namespace tulle::primitive {

struct plus {
  template <class T>
  constexpr T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};

/// op(...op(op(init, in[0]), in[1])..., in[n - 1]), from left to right.
template <class T, class Op = plus>
constexpr T reduce(T const* in, std::size_t n, T init = T(), Op op = {}) {
  for (std::size_t i = 0; i < n; ++i)
    init = op(init, in[i]);
  return init;
}

} // namespace tulle::primitive
