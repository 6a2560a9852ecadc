// SPDX-License-Identifier: Apache-2.0

/// Lengths of rows to where they begin, and back.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"

#include <algorithm>
#include <atomic>

namespace tulle::detail {

/// Where rows begin whose lengths are lengths(i): rows + 1 offsets.
template <class O, class F>
array<O> pointers_of(std::size_t rows, F const& length, cpu const& where) {
  int const parts = parts_for(rows, where.threads, 1 << 17);
  array<O> ptr(rows + 1, where.memory);
  array<O> before(static_cast<std::size_t>(parts) + 1, where.memory); // a part
  before[0] = 0;
  parallel(parts, [&](int part) {
    O sum = 0;
    for (std::size_t i = split(rows, part, parts), end = split(rows, part + 1, parts); i < end; ++i)
      sum = static_cast<O>(sum + static_cast<O>(length(i)));
    before[static_cast<std::size_t>(part) + 1] = sum;
  });
  for (std::size_t p = 0; p < static_cast<std::size_t>(parts); ++p)
    before[p + 1] = static_cast<O>(before[p] + before[p + 1]);
  parallel(parts, [&](int part) {
    O sum = before[static_cast<std::size_t>(part)];
    for (std::size_t i = split(rows, part, parts), end = split(rows, part + 1, parts); i < end;
         ++i) {
      ptr[i] = sum;
      sum = static_cast<O>(sum + static_cast<O>(length(i)));
    }
  });
  ptr[rows] = before[static_cast<std::size_t>(parts)];
  return ptr;
}

/// The length of the longest row.
template <class O>
O longest_row(O const* row_ptr, std::size_t rows, cpu const& where) {
  int const parts = parts_for(rows, where.threads, 1 << 17);
  O longest = 0;
  parallel(parts, [&](int part) {
    O mine = 0;
    for (std::size_t i = split(rows, part, parts), end = split(rows, part + 1, parts); i < end; ++i)
      mine = std::max<O>(mine, row_ptr[i + 1] - row_ptr[i]);
    std::atomic_ref const all(longest);
    for (O seen = all.load(); seen < mine && !all.compare_exchange_weak(seen, mine);) {
    }
  });
  return longest;
}

} // namespace tulle::detail
