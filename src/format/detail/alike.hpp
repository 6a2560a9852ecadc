// SPDX-License-Identifier: Apache-2.0

/// Rows or columns that follow one another with one pattern, as from finite elements with more than
/// one unknown per node: what holds for the first of them need not be asked of the others.
#pragma once
#include "format/detail/copy.hpp"

#include <algorithm>

namespace tulle::detail {

/// How many of lines [i, end) have the indices of line i, one after the other; at most 8.
template <class I, class O>
int alike_from(O const* ptr, I const* index, std::size_t i, std::size_t end) {
  auto const length = static_cast<std::size_t>(ptr[i + 1] - ptr[i]);
  I const* const line = index + ptr[i];
  std::size_t n = 1;
  while (n < 8 && i + n < end && static_cast<std::size_t>(ptr[i + n + 1] - ptr[i + n]) == length &&
         same(line, line + n * length, length))
    ++n;
  return static_cast<int>(n);
}

/// Whether half of the entries, or more, are in lines that the next line is like, by a sample.
template <class I, class O>
bool come_in_groups(O const* ptr, I const* index, std::size_t lines) {
  constexpr std::size_t stretches = 64, length = 8;
  std::size_t seen = 0;
  std::size_t alike = 0;
  for (std::size_t s = 0; s < stretches && lines > 1; ++s)
    for (std::size_t first = lines / stretches * s, j = first;
         j < std::min(first + length, lines - 1); ++j) {
      auto const n = static_cast<std::size_t>(ptr[j + 1] - ptr[j]);
      seen += n;
      alike += alike_from(ptr, index, j, j + 2) == 2 ? n : 0;
    }
  return seen > 0 && 2 * alike >= seen;
}

} // namespace tulle::detail
