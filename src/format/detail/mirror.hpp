// SPDX-License-Identifier: Apache-2.0

/// Patterns that equal their transposes: where (j, i) is if (i, j) is known.
#pragma once
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"

#include <algorithm>

namespace tulle::detail {

/// The place of column i in an ascending line that is [first, last); -1 where it is not. Short
/// lines are counted through, since the processor foresees no turn of a search.
template <class I, class O>
[[gnu::noinline]] O find_in_line(I const* col, O first, O last, I i) {
  O at = first;
  if (last - first <= 32)
    for (O k = first; k < last; ++k)
      at = static_cast<O>(at + (col[k] < i));
  else
    at = static_cast<O>(std::lower_bound(col + first, col + last, i) - col);
  return at < last && col[at] == i ? at : O(-1);
}

/// Where the twin (j, i) of an entry (i, j) is, the k-th of its line, in lines that ascend; -1
/// where it has none. In grids it is as far from its line's end as the entry is from its line's
/// beginning: that place is looked at before the line is searched, which `searches` counts.
template <class I, class O>
O twin_of(O const* ptr, I const* col, I i, I j, O k, std::size_t& searches) {
  O const first = ptr[j];
  O const last = ptr[static_cast<std::size_t>(j) + 1];
  O const guess = static_cast<O>(last - 1 - k);
  if (guess >= first && col[guess] == i) [[likely]]
    return guess;
  ++searches;
  return find_in_line(col, first, last, i);
}

// Fewer entries for each search than that, and a sort is faster. ms of a transpose, two threads of
// Zen 4, by a sort and by twins, and entries for each search: lattice 4.3, 2.4 (225); poisson2d5
// 1000 9.8, 6.2 (417); poisson3d7 100 12, 9.3 (30); poisson3d27 60 13.6, 9.4 (12); fem 8.6, 40 (1).
constexpr std::size_t entries_a_search = 8;

// Long lines reach over more than a cache holds: what comes behind a twin is asked for. ms of a
// transpose without and with: poisson3d27 60 17, 8.2; lattice, whose lines are short, 2.3, 2.6.
constexpr std::size_t twins_ahead = 64;
constexpr int long_line = 16;

/// Whether a sample of the lines of a square pattern has all its twins, and most where they are
/// guessed.
template <class I, class O>
bool looks_mirrored(O const* ptr, I const* index, std::size_t lines) {
  constexpr std::size_t stretches = 64, length = 8, most = 1 << 14; // lines of each, entries of all
  if (lines < 4096)
    return false;
  std::size_t searches = 0;
  std::size_t seen = 0;
  for (std::size_t s = 0; s < stretches; ++s) {
    std::size_t const first =
        (s + 1) * 0x9e3779b97f4a7c15 % (lines - length); // not in step with a grid
    for (std::size_t i = first; i < first + length; ++i) {
      for (O k = ptr[i]; k < ptr[i + 1] && seen < most; ++k, ++seen)
        if (twin_of(ptr, index, static_cast<I>(i), index[k], static_cast<O>(k - ptr[i]), searches) <
            0)
          return false;
      if (searches > 128 + seen / entries_a_search)
        return false;
    }
  }
  return searches * entries_a_search <= seen;
}

/// Lines [i, end) of copy_mirrored(), with at most so many searches.
template <class V, class I, class O, class T, class Value>
bool copy_mirrored(O const* ptr, I const* index, T const* from, Value value, std::size_t i,
                   std::size_t end, std::size_t most, O* out_ptr, I* out_index, V* out_val) {
  std::size_t searches = 0;
  for (; i < end; ++i) {
    O const first = ptr[i];
    O const stop = ptr[i + 1];
    bool const is_long = stop - first > long_line;
    out_ptr[i] = first;
    I before = -1;
    for (O k = first; k < stop; ++k) {
      I const j = index[k];
      O const twin = twin_of(ptr, index, static_cast<I>(i), j, static_cast<O>(k - first), searches);
      if (j <= before || twin < 0)
        return false;
      if (is_long) {
        __builtin_prefetch(index + twin + twins_ahead);
        __builtin_prefetch(from + twin + twins_ahead);
      }
      before = out_index[k] = j;
      out_val[k] = value(twin);
    }
    if (searches > most)
      return false;
  }
  return true;
}

/// The transpose of a square pattern that equals it, with value(twin) for each entry. False where
/// the pattern is another, where lines do not ascend, or where too many twins would have to be
/// searched for. Twins are each other's: if every entry has one, none is left over.
template <class V, class I, class O, class T, class Value>
bool copy_mirrored(O const* ptr, I const* index, T const* from, Value value, std::size_t lines,
                   O* out_ptr, I* out_index, V* out_val, cpu const& where) {
  bool good = true;
  int const parts = parts_for(static_cast<std::size_t>(ptr[lines]), where.threads);
  out_ptr[lines] = ptr[lines];
  parallel(parts, [&](int part) {
    std::size_t const begin = split_by_entries(ptr, lines, part, parts);
    std::size_t const end = split_by_entries(ptr, lines, part + 1, parts);
    auto const entries = static_cast<std::size_t>(ptr[end] - ptr[begin]);
    if (!copy_mirrored(ptr, index, from, value, begin, end, entries / entries_a_search, out_ptr,
                       out_index, out_val))
      __atomic_store_n(&good, false, __ATOMIC_RELAXED);
  });
  return good;
}

} // namespace tulle::detail
