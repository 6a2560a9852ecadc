// SPDX-License-Identifier: Apache-2.0

// Deals rows in segments to threads by groups of known size.
#pragma once
#include "tulle/dynamic/dynamic_view.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// The first group of each chunk, balanced by entries and rows. Rows of `long_row` entries or more
/// do not count: they are summed in pieces.
template <class V, class I>
void deal_groups(dynamic_view<V, I> const& a, std::int64_t chunks, std::int64_t* first_group,
                 std::int64_t long_row) {
  constexpr std::int64_t row_cost = 2; // of a row in addition to its entries, in entries
  std::int64_t const groups = (a.rows + group_rows - 1) / group_rows;
  auto const cost = [&](std::int64_t g) -> std::int64_t {
    if (!a.order)
      return a.in_group[g] + row_cost * group_rows;
    std::int64_t const n = a.size(a.order[g * group_rows]); // the others have as many, or almost
    return group_rows * ((n < long_row ? n : 0) + row_cost);
  };
  std::int64_t all = 0;
  for (std::int64_t g = 0; g < groups; ++g)
    all += cost(g);
  std::int64_t chunk = 0;
  for (std::int64_t g = 0, before = 0; g < groups; before += cost(g++))
    while (chunk < chunks && before >= all / chunks * chunk)
      first_group[chunk++] = g;
  while (chunk <= chunks)
    first_group[chunk++] = groups;
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
