// SPDX-License-Identifier: Apache-2.0

/// How the rows of a sparse product are computed. All methods give the same bits.
#pragma once
#include "tulle/version.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle {

enum class spgemm_method : std::uint8_t {
  automatic,  ///< for each row the one that was fastest for its number of products and its width
  tiny,       ///< at most eight rows of B of at most eight entries; others as by automatic
  heap,       ///< the heads of all rows of B in a heap
  esc,        ///< expand, sort by networks and merges, compress
  merge,      ///< one row of B after another merged into what is there
  hash,       ///< a table of columns
  dense,      ///< an accumulator as wide as the row, with one flag per column
  scatter,    ///< an accumulator as wide as B, with flags at two levels; a device chooses
  global_esc, ///< expand, sort, compress for many rows at once, by a radix sort
  heap_esc_merge, ///< by a row's products: heap up to 32, esc up to 512, merge for more
};
inline constexpr std::size_t spgemm_method_count = 10;

constexpr char const* name(spgemm_method m) {
  constexpr char const* names[] = {"automatic", "tiny",  "heap",    "esc",        "merge",
                                   "hash",      "dense", "scatter", "global_esc", "heap_esc_merge"};
  return names[static_cast<std::size_t>(m)];
}

struct spgemm_options {
  spgemm_method method = spgemm_method::automatic;
  bool sorted = true; ///< columns ascend in each row; false: not where sorting would cost time
};

} // namespace tulle
