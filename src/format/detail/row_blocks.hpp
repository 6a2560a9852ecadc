// SPDX-License-Identifier: Apache-2.0

/// The blocks of rows that csr_adaptive cuts a csr into.
#pragma once
#include "tulle/format/csr_adaptive.hpp"

namespace tulle::detail {

constexpr std::size_t block_stretch = std::size_t{1} << 14; // rows that are cut by themselves

inline void check_block_entries(int entries) {
  if (entries < 1 || entries > most_block_entries)
    fail(errc::unsupported, "csr_adaptive: option entries is %d, expected 1 to %d", entries,
         most_block_entries);
}

/// The blocks that a row of that many entries takes, where it does not share one.
template <class O>
constexpr O blocks_of_row(O length, int entries) {
  O const piece = static_cast<O>(entries) * long_row_blocks;
  return length <= piece ? O(1) : static_cast<O>((length - 1) / piece + 1);
}

/// The row after the block that begins with row i, which ends at `end` or before.
template <class O>
constexpr std::size_t block_end(O const* row_ptr, std::size_t i, std::size_t end, int entries) {
  auto const most = static_cast<std::size_t>(entries);
  std::size_t lo = i + 1; // the block ends at row lo or later
  std::size_t hi = end - i < most ? end : i + most;
  while (lo < hi) {
    std::size_t const mid = lo + (hi - lo + 1) / 2;
    if (static_cast<std::size_t>(row_ptr[mid] - row_ptr[i]) <= most)
      lo = mid;
    else
      hi = mid - 1;
  }
  return lo;
}

/// f(i, blocks) for each block that begins in rows [i, end), or for all of those that have row i.
template <class O, class F>
void each_row_block(O const* row_ptr, std::size_t i, std::size_t end, int entries, F&& f) {
  while (i < end) {
    std::size_t const next = block_end(row_ptr, i, end, entries);
    f(i, next == i + 1 ? static_cast<std::size_t>(
                             blocks_of_row(static_cast<O>(row_ptr[i + 1] - row_ptr[i]), entries))
                       : std::size_t{1});
    i = next;
  }
}

} // namespace tulle::detail
