// SPDX-License-Identifier: Apache-2.0

/// A stable sort of entries by their columns, for strips of cmrs and slices of scoo.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace tulle::detail {

/// n entries of rows that follow each other, stably by their columns, of [least, most], into one of
/// the two; returns which.
template <class O, class Entry, class I, class Column>
Entry* sort_by_column(Entry* from, Entry* to, std::size_t n, I least, I most,
                      Column const& column) {
  using U = std::make_unsigned_t<I>;
  constexpr std::size_t few = 32; // entries below which clearing the counters would cost most
  constexpr int most_bits = 8;    // of a digit
  if (n < few) {
    for (std::size_t k = 1; k < n; ++k)
      for (std::size_t j = k; j > 0 && column(from[j]) < column(from[j - 1]); --j)
        std::swap(from[j], from[j - 1]);
    return from;
  }
  // By digits of the column; rows are in order to begin with. Merging the rows pair by pair took
  // longer where they differ, because of mispredicted branches.
  int const width = static_cast<int>(std::bit_width(static_cast<U>(most - least)));
  int const digits = (width + most_bits - 1) / most_bits;
  int const digit = digits == 0 ? 0 : (width + digits - 1) / digits;
  U const mask = static_cast<U>((U(1) << digit) - 1);
  for (int shift = 0; shift < width; shift += digit, std::swap(from, to)) {
    auto const bucket = [=](Entry const& e) {
      return static_cast<U>(column(e) - least) >> shift & mask;
    };
    O next[1 << most_bits];
    std::fill_n(next, mask + 1, O(0));
    for (std::size_t k = 0; k < n; ++k)
      ++next[bucket(from[k])];
    O sum = 0;
    for (U b = 0; b <= mask; ++b)
      sum = static_cast<O>(sum + std::exchange(next[b], sum));
    for (std::size_t k = 0; k < n; ++k)
      to[next[bucket(from[k])]++] = from[k];
  }
  return from;
}

} // namespace tulle::detail
