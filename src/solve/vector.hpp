// SPDX-License-Identifier: Apache-2.0

// What solvers ask of blocks of dense vectors beyond op/vector_blocks.hpp. Sums are doubles, of
// floats too.
#pragma once
#include "op/vector_blocks.hpp"

#include <cstddef>
#include <limits>

namespace tulle::solve {

/// a . b over n elements, n at most a block.
template <class T>
double dot(T const* a, T const* b, std::size_t n) {
  return detail::sum_lanes<double>(
      n, [=](std::size_t i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); });
}

/// a . (d a), d a diagonal.
template <class T>
double weighted_dot(T const* a, T const* d, std::size_t n) {
  return detail::sum_lanes<double>(n, [=](std::size_t i) {
    auto const v = static_cast<double>(a[i]);
    return v * v * static_cast<double>(d[i]);
  });
}

/// ||r||^2 and r . M^-1 r; the same number where there is no M.
struct norms {
  double rr;
  double rz;

  norms& operator+=(norms const& other) {
    rr += other.rr;
    rz += other.rz;
    return *this;
  }
};

/// The first element that is NaN or Inf; n where there is none.
template <class T>
std::size_t first_not_finite(T const* v, std::size_t n) {
  constexpr T most = std::numeric_limits<T>::max();
  constexpr std::size_t block = detail::vector_blocks::block;
  for (std::size_t first = 0; first < n; first += block) {
    std::size_t const end = std::min(n, first + block);
    unsigned bad = 0;
    for (std::size_t i = first; i < end; ++i)
      bad |= !(v[i] <= most && v[i] >= -most);
    for (std::size_t i = first; bad && i < end; ++i)
      if (!(v[i] <= most && v[i] >= -most))
        return i;
  }
  return n;
}

} // namespace tulle::solve
