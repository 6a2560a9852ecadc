// SPDX-License-Identifier: Apache-2.0

/// Ways to choose distinct columns for one row.
#pragma once
#include "gen/hash.hpp"

#include <algorithm>
#include <cstddef>

namespace tulle::gen {

/// n of the columns [begin, end), one in each of n equal parts: sorted and distinct as drawn.
inline void draw_apart(std::int64_t* out, std::size_t n, std::uint64_t begin, std::uint64_t end,
                       stream& draws) {
  auto const edge = [&](std::size_t k) {
    return (end - begin) / n * k + (end - begin) % n * k / n;
  };
  for (std::size_t k = 0; k < n; ++k) {
    std::uint64_t const from = edge(k);
    out[k] = static_cast<std::int64_t>(begin + from + draws.below(edge(k + 1) - from));
  }
}

/// Draws columns below cols until there are n distinct ones, sorted. out[0..have) are already
/// there, distinct, in any order. Where draw() keeps repeating itself, the last ones are drawn
/// evenly. Rows that are more than half full are drawn apart.
template <class Draw>
void draw_distinct(std::int64_t* out, std::size_t have, std::size_t n, std::uint64_t cols,
                   stream& draws, Draw draw) {
  constexpr int patience = 6; // rounds; each sorts the row
  if (n > cols / 2) {
    draw_apart(out, n, 0, cols, draws);
    return;
  }
  for (int round = 0; have < n; ++round) {
    for (std::size_t k = have; k < n; ++k)
      out[k] = static_cast<std::int64_t>(round < patience ? draw() : draws.below(cols));
    std::sort(out, out + n);
    have = static_cast<std::size_t>(std::unique(out, out + n) - out);
  }
  std::sort(out, out + n);
}

} // namespace tulle::gen
