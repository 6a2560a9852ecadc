// SPDX-License-Identifier: Apache-2.0

/// The segments that rows of csr_pool and of dynamic matrices are cut into, checked.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/dynamic/dynamic_view.hpp"
#include "tulle/format/csr.hpp"

namespace tulle::detail {

struct segments_sum {
  std::size_t rooms = 0; // of all segments
  std::size_t entries = 0;
};

/// Throws errc::bad_structure for a row whose segments are not within so many places, or are
/// another's, or too short for it, for a column out of range and for groups that do not add up.
template <class V, class I, class O>
segments_sum check_segments(char const* name, dynamic_view<V, I, O> const& a, std::size_t places) {
  auto const require = [name](bool holds, char const* what, std::size_t i) {
    if (!holds)
      fail(errc::bad_structure, "%s: row %zu: %s", name, i, what);
  };
  array<std::uint8_t> taken(places, std::uint8_t(0));
  segments_sum all;
  std::size_t in_group = 0;
  auto const rows = static_cast<std::size_t>(a.rows);
  for (std::size_t i = 0; i < rows; ++i) {
    auto const length = static_cast<std::size_t>(a.in_segments(static_cast<I>(i)));
    std::size_t room = 0;
    for (int s = 0; s < most_segments && a.begin[s]; ++s) {
      auto const begin = static_cast<std::size_t>(a.begin[s][i]);
      auto const end = static_cast<std::size_t>(a.end[s][i]);
      require(begin <= end && end <= places, "a segment is outside the pool", i);
      for (std::size_t p = begin; p < end; ++p) {
        require(taken[p] == 0, "a segment overlaps another", i);
        taken[p] = 1;
      }
      room += end - begin;
      if (s == 0)
        require((a.length[i] < 0) == (length > room), "its length is marked wrongly", i);
    }
    require(length <= room, "more entries than room", i);
    a.each_segment(static_cast<I>(i), [&](I const* col, V const*, I n) {
      for (I k = 0; k < n; ++k)
        require(col[k] >= 0 && col[k] < a.cols, "a column is out of range", i);
    });
    all.rooms += room;
    all.entries += length;
    in_group += length;
    if ((i + 1) % group_rows == 0 || i + 1 == rows) {
      require(static_cast<std::size_t>(a.in_group[i / group_rows]) == in_group,
              "its group counts other entries", i);
      in_group = 0;
    }
  }
  return all;
}

} // namespace tulle::detail
