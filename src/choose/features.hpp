// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tulle/choose/features.hpp"
#include "tulle/core/array.hpp"
#include "tulle/core/where.hpp"
#include "tulle/format/csr.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tulle::choose {

constexpr std::size_t stretches = 16;
constexpr std::size_t stretch_steps = 4096; // rows and entries
constexpr std::size_t near_lines = 512;     // of 64 bytes: 32 KB, a first cache
constexpr std::size_t distant_lines = 16384;
constexpr std::size_t places = 8192; // of diagonals
constexpr std::size_t longest_counted = 1024;

/// Which keys a small direct-mapped memory has seen.
struct seen_keys {
  array<std::uint32_t> keys;
  std::size_t mask;

  /// No more slots than `entries` can fill.
  seen_keys(std::size_t slots, std::size_t entries, cpu const& where)
      : keys(std::min(slots, std::bit_ceil(entries)), where.memory), mask(keys.size() - 1) {
    clear();
  }
  void clear() { std::fill(keys.begin(), keys.end(), UINT32_MAX); }
  /// Whether the key was not the last one at its place.
  bool is_new(std::uint64_t key) {
    std::uint64_t const hash = key * 0x9E3779B97F4A7C15u;
    std::uint32_t& slot = keys[static_cast<std::size_t>(hash >> 40) & mask];
    bool const fresh = slot != static_cast<std::uint32_t>(key);
    slot = static_cast<std::uint32_t>(key);
    return fresh;
  }
};

template <class V, class I, class O>
features look_at_csr(csr_view<V, I, O> const& a, cpu const& where) {
  features f;
  f.rows = static_cast<std::size_t>(a.rows);
  f.cols = static_cast<std::size_t>(a.cols);
  f.nnz = static_cast<std::size_t>(a.nnz);
  f.value_bytes = sizeof(V);
  f.index_bytes = sizeof(I);
  if (f.nnz == 0)
    return f;
  std::size_t const path = f.rows + f.nnz;
  std::size_t const n = path <= stretches * stretch_steps ? 1 : stretches;
  std::size_t const steps = n == 1 ? path : stretch_steps;
  seen_keys near(near_lines, f.nnz, where), distant(distant_lines, f.nnz, where);
  seen_keys diagonal(places, f.nnz, where);
  array<std::uint32_t> lengths(longest_counted + 1, where.memory);
  double rows = 0, entries = 0, slots = 0, diagonals = 0, diagonal_slots = 0;
  for (std::size_t s = 0; s < n; ++s) {
    // The row at the middle of the stretch's share of the path.
    std::size_t const at = n == 1 ? 0 : path / n * s + path / n / 2;
    std::size_t lo = 0, hi = f.rows;
    while (lo < hi) {
      std::size_t const mid = (lo + hi) / 2;
      if (static_cast<std::size_t>(a.row_ptr[mid + 1]) + mid < at)
        lo = mid + 1;
      else
        hi = mid;
    }
    near.clear();
    diagonal.clear();
    std::fill(lengths.begin(), lengths.end(), 0u);
    std::size_t left = steps;
    double rows_here = 0, diagonals_here = 0;
    for (std::size_t i = std::min(lo, f.rows - 1), first = i; i < f.rows && left > 0; ++i) {
      O const begin = a.row_ptr[i], end = a.row_ptr[i + 1];
      auto const length = static_cast<std::size_t>(end - begin);
      ++rows_here;
      f.empty_rows += length == 0;
      ++lengths[std::min(length, longest_counted)];
      if (length > longest_counted)
        slots += static_cast<double>(std::min(length, left)); // such rows are not padded
      O const stop = static_cast<O>(begin + static_cast<O>(std::min(length, left)));
      for (O k = begin; k < stop; ++k) {
        auto const line = static_cast<std::uint64_t>(a.col[k]) / 8;
        f.far_entries += near.is_new(line);
        f.distant_entries += distant.is_new(line);
        diagonals_here += diagonal.is_new(static_cast<std::uint64_t>(a.col[k]) - i);
      }
      entries += static_cast<double>(stop - begin);
      left -= std::min(left, length + 1);
      if (i == first)
        continue;
      O const before = a.row_ptr[i - 1];
      auto const last = static_cast<std::size_t>(begin - before);
      auto const vectors = [](std::size_t m) { return m == 0 ? 0 : (m - 1) / 4; };
      f.changed_rows += length != last;
      f.stepped_rows += vectors(length) != vectors(last);
      if (length == 0 || length != last)
        continue;
      I const step = static_cast<I>(a.col[begin] - a.col[before]);
      bool const alike = a.col[end - 1] - a.col[begin - 1] == step;
      f.same_columns += alike && step == 0;
      f.shifted += alike && step == 1;
      if (step == 1)
        for (O k = begin; k < stop; ++k)
          f.repeated_values += a.val[k] == a.val[k - static_cast<O>(length)];
    }
    rows += rows_here;
    diagonals += diagonals_here;
    diagonal_slots += diagonals_here * rows_here;
    std::size_t place = 0; // in a slice of eight, the longest rows first
    for (std::size_t length = longest_counted; length-- > 0;) {
      std::size_t const here = lengths[length];
      std::size_t const open = std::min(here, (8 - place % 8) % 8);
      slots += static_cast<double>((here - open + 7) / 8 * 8 * length);
      place += here;
    }
  }
  for (double* x : {&f.empty_rows, &f.changed_rows, &f.stepped_rows, &f.same_columns, &f.shifted})
    *x /= rows;
  double const seen = std::max(entries, 1.0);
  for (double* x : {&f.far_entries, &f.distant_entries, &f.repeated_values})
    *x /= seen;
  f.row_length = entries / rows;
  f.sliced_fill = std::max(slots / seen, 1.0);
  f.diagonals = diagonals / seen;
  f.diagonal_fill = diagonal_slots / seen;
  return f;
}

} // namespace tulle::choose
