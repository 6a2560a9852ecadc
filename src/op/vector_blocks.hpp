// SPDX-License-Identifier: Apache-2.0

// Loops over dense vectors: one pass over memory for each step, in blocks. A block is updated and
// then summed while it lies in the first-level cache, in interleaved sums; the sums of the blocks
// are added in order, by chunks of blocks that depend on n alone. So the bits of a sum do not
// depend on the number of threads.
#pragma once
#include "tulle/core/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tulle::detail {

/// The sum of term(i) for i in [0, n), in eight sums that do not wait for each other.
template <class Sum, class F>
Sum sum_lanes(std::size_t n, F term) {
  constexpr std::size_t lanes = 8;
  Sum s[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l)
      s[l] += term(i + l);
  for (std::size_t l = 0; i < n; ++i, ++l)
    s[l] += term(i);
  return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/// n elements in blocks, dealt to `parts` threads.
class vector_blocks {
public:
  static constexpr std::size_t block = 1024; // 8 KiB of doubles; others have not been measured
  static constexpr std::size_t most_chunks = 1024; // their sums lie on the stack

  vector_blocks(std::size_t n, int parts) : n_(n), parts_(parts) {}

  /// f(first, count) for each block.
  template <class F>
  void each(F&& f) const {
    std::size_t const blocks = (n_ + block - 1) / block;
    parallel(parts_, [&](int part) {
      std::size_t const end = split(blocks, part + 1, parts_);
      for (std::size_t b = split(blocks, part, parts_); b < end; ++b)
        f(b * block, std::min(block, n_ - b * block));
    });
  }

  /// The same; what f returns is joined to `all`, block by block: join(a, b) has b on the right. A
  /// Sum is not initialised where none is given: their array would be, in each call.
  template <class Sum, class F, class Join>
  Sum join(Sum all, F&& f, Join&& join) const {
    static_assert(std::is_trivially_default_constructible_v<Sum>);
    if (n_ == 0)
      return all;
    std::size_t const chunk = (n_ - 1) / (most_chunks * block) * block + block;
    std::size_t const chunks = (n_ - 1) / chunk + 1;
    Sum sums[most_chunks];
    parallel(parts_, [&](int part) {
      std::size_t const end = split(chunks, part + 1, parts_);
      for (std::size_t c = split(chunks, part, parts_); c < end; ++c) {
        std::size_t const last = std::min(n_, (c + 1) * chunk);
        std::size_t i = c * chunk;
        Sum here = f(i, std::min(block, last - i));
        for (i += block; i < last; i += block)
          here = join(here, f(i, std::min(block, last - i)));
        sums[c] = here;
      }
    });
    for (std::size_t c = 0; c < chunks; ++c)
      all = join(all, sums[c]);
    return all;
  }

  /// The sum of what f returns.
  template <class Sum, class F>
  Sum sum(F&& f) const {
    return join(Sum{}, f, [](Sum a, Sum const& b) { return a += b; });
  }

private:
  std::size_t n_;
  int parts_;
};

/// The larger one; NaN stays, whichever it is.
template <class R>
R greater_or_nan(R a, R b) {
  return std::isnan(b) || b > a ? b : a;
}

/// A root of a sum of squares that may be out of range where the root is not: squares(s) is the sum
/// for elements times s, largest() the largest modulus.
template <class Squares, class Largest>
double norm2_of(Squares squares, Largest largest) {
  // Most vectors need no scaling, and floats never do. A sum of this size has lost nothing that
  // counts: what a square loses below the range of double is less than 2^-1074.
  double const sum = squares(1.0);
  if (std::isnan(sum) || (sum >= 0x1p-900 && std::isfinite(sum)))
    return std::sqrt(sum);
  auto const most = static_cast<double>(largest());
  if (most == 0 || std::isinf(most))
    return most;
  int const e = std::clamp(std::ilogb(most), -1000, 1000);
  return std::ldexp(std::sqrt(squares(std::ldexp(1.0, -e))), e);
}

} // namespace tulle::detail
