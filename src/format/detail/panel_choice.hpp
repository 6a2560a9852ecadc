// SPDX-License-Identifier: Apache-2.0

/// How panels are laid out: the columns that stand together, the rows that do.
#pragma once
#include "tulle/format/panels.hpp"

#include <algorithm>
#include <bit>

namespace tulle::detail {

constexpr std::size_t most_local = 65536; // rows of a group, columns of a panel
constexpr int most_lanes = 64;
constexpr int narrow_panel = 2048;      // x of a panel takes half of L1
constexpr int wide_panel = 65536;       // half of L2
// With fewer columns x stays in the cache that threads share, and the order of the columns costs more
// than it saves. Time by their entries over time in their own order, double, two threads of Zen 5:
// debian-depends (63,436 columns) 1.37, as-22july06 1.54, rmat 19 1.03, rmat 21 .67, rmat 22 .55.
constexpr std::size_t fewest_ordered = std::size_t{1} << 20;
constexpr std::size_t few_rows = 4096;  // a group has, where there are as many
constexpr std::size_t many_groups = 32; // of equal numbers of entries

inline void check_panels_options(panels_options const& o) {
  auto const check = [](char const* name, int value, int least, int most) {
    if (value < least || value > most)
      fail(errc::unsupported, "panels: option %s is %d, expected %d to %d", name, value, least,
           most);
  };
  check("width", o.width, 0, static_cast<int>(most_local));
  if (o.width != 0 && !std::has_single_bit(static_cast<unsigned>(o.width)))
    fail(errc::unsupported, "panels: option width is %d, expected a power of two", o.width);
  check("height", o.height, 1, static_cast<int>(most_local));
  check("lanes", o.lanes, 1, most_lanes);
  check("piece", o.piece, 1, static_cast<int>(most_local));
  if (!(o.limit > 0) || !(o.hot >= 0))
    fail(errc::unsupported, "panels: options hot and limit are %g and %g, expected 0 or more",
         o.hot, o.limit);
}

/// The bytes of so many entries, slots, tiles and runs, and of columns and groups.
template <class V, class I, class O>
double panels_bytes(std::size_t nnz, std::size_t slots, std::size_t tiles, std::size_t runs,
                    std::size_t others) {
  return static_cast<double>(nnz) * (sizeof(V) + 2) + static_cast<double>(slots) * 2 +
         static_cast<double>(tiles) * (sizeof(I) + 3 * sizeof(O)) +
         static_cast<double>(runs) * (sizeof(I) + sizeof(O)) +
         static_cast<double>(others) * sizeof(I);
}

/// Entries of each column.
template <class V, class I, class O>
array<O> column_counts(csr_view<V, I, O> const& a, cpu const& where) {
  auto const cols = static_cast<std::size_t>(a.cols);
  auto const nnz = static_cast<std::size_t>(a.nnz);
  int const parts = parts_for(nnz, where.threads, cols / 2 + (1 << 15));
  array<O> count(checked_mul(cols, static_cast<std::size_t>(parts), "panels"), where.memory);
  parallel(parts, [&](int part) {
    O* const mine = count.data() + static_cast<std::size_t>(part) * cols;
    std::fill_n(mine, cols, O(0));
    for (std::size_t k = split(nnz, part, parts); k < split(nnz, part + 1, parts); ++k)
      ++mine[a.col[k]];
  });
  parallel(parts, [&](int part) {
    for (std::size_t j = split(cols, part, parts); j < split(cols, part + 1, parts); ++j)
      for (std::size_t p = 1; p < static_cast<std::size_t>(parts); ++p)
        count[j] = static_cast<O>(count[j] + count[p * cols + j]);
  });
  return count;
}

/// Columns by the power of two of how many entries they have: how many columns, and their entries.
struct column_classes {
  static constexpr int most = 64;
  std::size_t columns[most + 1] = {};
  std::size_t entries[most + 1] = {};

  static constexpr int of(std::uint64_t n) { return static_cast<int>(std::bit_width(n)); }
  /// Columns that have any.
  std::size_t used(std::size_t cols) const { return cols - columns[0]; }
  /// Whether the sixteenth of the columns that has most has more than that share of all entries.
  bool is_hot(std::size_t cols, std::size_t nnz, double hot) const {
    double share = 0;
    auto left = static_cast<double>(cols) / 16;
    for (int c = most; c > 0 && left > 0; left -= static_cast<double>(columns[c--]))
      if (columns[c] != 0)
        share +=
            static_cast<double>(entries[c]) * std::min(1., left / static_cast<double>(columns[c]));
    return share > hot * static_cast<double>(nnz);
  }
};

/// The width of panels; returns whether columns might go by their entries.
template <class View>
bool choose_width(View const& a, panels_options const& o, int& width) {
  auto const cols = static_cast<std::size_t>(a.cols);
  bool const many = static_cast<double>(a.nnz) * narrow_panel >=
                    static_cast<double>(a.rows) * static_cast<double>(a.cols);
  width = o.width != 0 ? o.width : many || cols <= narrow_panel ? narrow_panel : wide_panel;
  // Rows with entries in every panel use the cache well.
  return !(a.nnz == 0 || o.hot >= 1 || (o.hot > 0 && (many || cols < fewest_ordered)));
}

/// The width of panels and, where columns are to go by their entries, those that have any: by the
/// power of two of how many, the most first; columns of one panel ascend.
template <class V, class I, class O>
array<I> choose_panels(csr_view<V, I, O> const& a, panels_options const& o, cpu const& where,
                       int& width) {
  if (!choose_width(a, o, width))
    return {};
  auto const cols = static_cast<std::size_t>(a.cols);
  array<O> const count = column_counts(a, where);
  column_classes classes;
  auto const class_of = [&](std::size_t j) {
    return column_classes::of(static_cast<std::uint64_t>(count[j]));
  };
  for (std::size_t j = 0; j < cols; ++j) {
    ++classes.columns[class_of(j)];
    classes.entries[class_of(j)] += static_cast<std::size_t>(count[j]);
  }
  if (!classes.is_hot(cols, static_cast<std::size_t>(a.nnz), o.hot))
    return {};
  if (o.width == 0)
    width = narrow_panel;
  std::size_t const used = classes.used(cols);
  std::size_t next[column_classes::most + 1];
  std::size_t at = 0;
  for (int c = column_classes::most; c > 0; at += classes.columns[c--])
    next[c] = at;
  array<I> order(used, where.memory);
  for (std::size_t j = 0; j < cols; ++j)
    if (count[j] != 0)
      order[next[class_of(j)]++] = static_cast<I>(j);
  for (std::size_t l = 0; l < used; l += static_cast<std::size_t>(width)) {
    I* const end = order.data() + std::min(used, l + static_cast<std::size_t>(width));
    if (!std::is_sorted(order.data() + l, end))
      std::sort(order.data() + l, end);
  }
  return order;
}

/// Where groups of rows begin: they end at `height` rows, or at their share of the entries if they
/// have a few rows by then.
template <class V, class I, class O>
array<I> choose_groups(csr_view<V, I, O> const& a, panels_options const& o, cpu const& where) {
  auto const rows = static_cast<std::size_t>(a.rows);
  auto const height = static_cast<std::size_t>(o.height);
  std::size_t const least = std::min(height, few_rows);
  std::size_t const share = static_cast<std::size_t>(a.nnz) / many_groups + 1;
  auto const walk = [&](auto&& f) {
    for (std::size_t i = 0; i < rows;) {
      // The first row beyond the share, by row_ptr; then between least and height.
      O const* const end =
          std::partition_point(a.row_ptr + i + 1, a.row_ptr + rows, [&](O const& p) {
            return static_cast<std::size_t>(p - a.row_ptr[i]) < share;
          });
      auto const wanted = static_cast<std::size_t>(end - a.row_ptr) - i;
      i = std::min(rows, i + std::clamp(wanted, least, height));
      f(i);
    }
  };
  std::size_t groups = 0;
  walk([&](std::size_t) { ++groups; });
  array<I> ptr(groups + 1, where.memory);
  ptr[0] = 0;
  std::size_t g = 0;
  walk([&](std::size_t end) { ptr[++g] = static_cast<I>(end); });
  return ptr;
}

} // namespace tulle::detail
