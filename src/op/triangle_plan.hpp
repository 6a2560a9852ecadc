// SPDX-License-Identifier: Apache-2.0

// What a plan of trsv knows of a triangle's pattern: an order of its rows, and who solves which.
// Of indices and offsets alone, so that types of values share it.
#pragma once
#include "tulle/core/limited.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/op/trsv.hpp"

#include "kernel/trsv.hpp"
#include "op/operands.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tulle::detail {

// Costs of lines for the choice of a method, in ns on Zen 5: a row, an entry, a row that depends on
// the one just before it, and a level for a team of two. Of poisson3d7:60 in order 830 us and 930
// predicted, by levels with one thread 580 to 670 and 556. A level costs 90 where the two threads
// share a cache and 370 where they do not.
constexpr double ns_per_row = 1.1, ns_per_entry_in_order = 0.4, ns_per_entry = 0.5;
constexpr double ns_per_chained_row = 4.3, ns_per_level = 200;
// Of what another thread has solved: lines of the cache that move.
constexpr double ns_per_row_elsewhere = 0.25;
// Levels with less work for a thread than that are not dealt out.
constexpr double ns_of_thin_level = 2 * ns_per_level;
constexpr std::int64_t lines_per_chunk = 64; // of sync_free

inline double cost_of_block(int block) {
  return block == 1 ? 1 : block == 4 ? 2.5 : 4.5; // B and X are read and written, too
}

/// The triangle of a csr, or its transpose, that is to be solved.
template <class I, class O>
struct triangle_pattern {
  I rows;
  O const* row_ptr;
  I const* col;
  bool lower;      // of the csr
  bool transposed; // afterwards
  bool unit;

  bool descends() const { return lower == transposed; }
  bool has(I i, I j) const { return lower ? j < i : j > i; }
  /// The n-th row to be solved, where rows are solved in order; and back.
  I natural(I n) const { return descends() ? rows - 1 - n : n; }
};

/// What is known before memory is taken.
template <class I, class O>
struct triangle_survey {
  bool sorted = true; // each row, without duplicates
  array<O> length;    // of each row to be solved, without the diagonal
  std::size_t entries = 0, diagonal = 0, chained = 0;
  array<I> level;     // of each row, where levels are asked for
  array<I> level_ptr; // where each begins in their order
  std::int64_t levels = 0;
};

template <class I, class O>
triangle_survey<I, O> survey_triangle(char const* op, triangle_pattern<I, O> const& t,
                                      bool with_levels, std::pmr::memory_resource* memory) {
  triangle_survey<I, O> s;
  auto const n = static_cast<std::size_t>(t.rows);
  s.length = array<O>(n, O(0), memory);
  for (I i = 0; i < t.rows; ++i) {
    std::size_t on_diagonal = 0, in_row = 0;
    for (O k = t.row_ptr[i]; k < t.row_ptr[i + 1]; ++k) {
      I const j = t.col[k];
      s.sorted &= k == t.row_ptr[i] || t.col[k - 1] < j;
      on_diagonal += j == i;
      if (t.has(i, j)) {
        ++in_row;
        if (t.transposed)
          ++s.length[static_cast<std::size_t>(j)];
      }
    }
    if (!t.transposed)
      s.length[static_cast<std::size_t>(i)] = static_cast<O>(in_row);
    if (on_diagonal == 0 && !t.unit)
      fail(errc::bad_structure, "%s: row %lld has no entry on the diagonal", op,
           static_cast<long long>(i));
    s.entries += in_row;
    s.diagonal += on_diagonal;
  }
  if (!with_levels)
    return s;
  s.level = array<I>(n, I(0), memory);
  I const before = t.descends() ? 1 : -1; // of the row that is solved just before
  I deepest = -1;
  for (I q = 0; q < t.rows; ++q) {
    I const i = t.natural(q);
    I level = s.level[static_cast<std::size_t>(i)];
    bool chained = false;
    for (O k = t.row_ptr[i]; k < t.row_ptr[i + 1]; ++k) {
      I const j = t.col[k];
      if (!t.has(i, j))
        continue;
      I& other = s.level[static_cast<std::size_t>(j)];
      if (t.transposed) { // j depends on i
        other = std::max<I>(other, level + 1);
        chained |= j == i - before;
      } else {
        level = std::max<I>(level, other + 1);
        chained |= j == i + before;
      }
    }
    s.level[static_cast<std::size_t>(i)] = level;
    s.chained += chained;
    deepest = std::max(deepest, level);
  }
  s.levels = static_cast<std::int64_t>(deepest) + 1;
  auto const levels = static_cast<std::size_t>(s.levels);
  s.level_ptr = array<I>(levels + 1, I(0), memory);
  for (I const level : s.level)
    ++s.level_ptr[static_cast<std::size_t>(level) + 1];
  for (std::size_t level = 0; level < levels; ++level)
    s.level_ptr[level + 1] += s.level_ptr[level];
  return s;
}

/// f(first line, last line, ns, whether it is dealt out) for each stage: a level, or thin levels
/// that follow one another. work(level) is what one thread takes for it.
template <class I, class O, class Work, class F>
void for_each_stage(triangle_survey<I, O> const& s, int parts, Work const& work, F const& f) {
  std::int64_t first = 0;
  double thin = 0;
  auto const end_thin = [&](std::int64_t level) {
    if (first != level)
      f(s.level_ptr[static_cast<std::size_t>(first)], s.level_ptr[static_cast<std::size_t>(level)],
        thin, false);
    thin = 0;
  };
  for (std::int64_t level = 0; level < s.levels; ++level) {
    double const ns = work(level);
    if (parts == 1 || ns * (parts - 1) / parts < ns_of_thin_level) {
      thin += ns;
      continue;
    }
    end_thin(level);
    f(s.level_ptr[static_cast<std::size_t>(level)],
      s.level_ptr[static_cast<std::size_t>(level) + 1], ns, true);
    first = level + 1;
  }
  end_thin(s.levels);
}

/// Entries of the rows of each level.
template <class I, class O>
array<O> entries_of_levels(triangle_survey<I, O> const& s, std::pmr::memory_resource* memory) {
  array<O> entries(static_cast<std::size_t>(s.levels), O(0), memory);
  for (std::size_t i = 0; i < s.level.size(); ++i)
    entries[static_cast<std::size_t>(s.level[i])] += s.length[i];
  return entries;
}

/// Where the parts of a plan lie in its memory.
struct triangle_layout {
  std::size_t row, ptr, col, from, bounds, flags, epoch, y, bytes;
};

/// The arrays of a plan in its memory, after which lines point to them. Rows are in the order of
/// levels, or where there are none in their own.
template <class I, class O>
void fill_lines(triangle_pattern<I, O> const& t, triangle_survey<I, O> const& s, bool by_levels,
                std::byte* memory, triangle_layout const& at, triangle_lines& lines,
                std::pmr::memory_resource* scratch) {
  auto const n = static_cast<std::size_t>(t.rows);
  auto* const ptr = reinterpret_cast<O*>(memory + at.ptr);
  auto* const col = reinterpret_cast<I*>(memory + at.col);
  auto* const from = reinterpret_cast<O*>(memory + at.from);
  bool const listed = lines.step == 0, permuted = by_levels || t.descends();
  auto* const row = permuted ? reinterpret_cast<I*>(memory + at.row) : nullptr;
  array<I> line(n, scratch); // of each row
  if (by_levels) {
    array<I> next(s.level_ptr.data(), s.level_ptr.size(), scratch);
    for (I q = 0; q < t.rows; ++q) {
      auto const i = static_cast<std::size_t>(t.natural(q));
      line[i] = next[static_cast<std::size_t>(s.level[i])]++;
    }
  } else {
    for (I q = 0; q < t.rows; ++q)
      line[static_cast<std::size_t>(t.natural(q))] = q;
  }
  ptr[0] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    ptr[static_cast<std::size_t>(line[i]) + 1] = s.length[i];
    if (permuted)
      row[line[i]] = static_cast<I>(i);
  }
  if (listed && !t.unit) // what is on the diagonal is listed behind the others
    for (I i = 0; i < t.rows; ++i)
      for (O k = t.row_ptr[i]; k < t.row_ptr[i + 1]; ++k)
        if (t.col[k] == i)
          ++ptr[static_cast<std::size_t>(line[static_cast<std::size_t>(i)]) + 1];
  for (std::size_t p = 0; p < n; ++p)
    ptr[p + 1] += ptr[p];
  auto const line_of = [&](I j) { return line[static_cast<std::size_t>(j)]; };
  if (!listed) {
    for (std::size_t p = 0; p < n; ++p) {
      I const i = permuted ? row[p] : static_cast<I>(p);
      O const first = lines.step > 0 ? t.row_ptr[i] : t.row_ptr[i + 1] - 1;
      from[p] = first;
      O const count = ptr[p + 1] - ptr[p];
      for (O q = 0; q < count; ++q)
        col[ptr[p] + q] = line_of(t.col[first + q * static_cast<O>(lines.step)]);
    }
  } else if (t.transposed) { // rows of the csr in the order in which they are solved
    array<O> next(ptr, n, scratch);
    for (I q = 0; q < t.rows; ++q) {
      I const i = t.natural(q);
      for (O k = t.row_ptr[i]; k < t.row_ptr[i + 1]; ++k) {
        I const j = t.col[k];
        if (!t.has(i, j) && (j != i || t.unit))
          continue;
        O const to = next[static_cast<std::size_t>(line_of(j))]++;
        col[to] = line_of(i);
        from[to] = k;
      }
    }
  } else {
    for (std::size_t p = 0; p < n; ++p) {
      I const i = permuted ? row[p] : static_cast<I>(p);
      O to = ptr[p];
      for (O k = t.row_ptr[i]; k < t.row_ptr[i + 1]; ++k)
        if (t.has(i, t.col[k]) || (t.col[k] == i && !t.unit))
          from[to++] = k;
      std::sort(from + ptr[p], from + to, [&](O a, O b) {
        return t.col[a] != t.col[b] ? (t.lower ? t.col[a] < t.col[b] : t.col[a] > t.col[b]) : a < b;
      });
      for (O k = ptr[p]; k < to; ++k)
        col[k] = line_of(t.col[from[k]]);
    }
  }
  lines.row = row;
  lines.ptr = ptr;
  lines.col = col;
  lines.from = from;
}

} // namespace tulle::detail
