// SPDX-License-Identifier: Apache-2.0

/// Where the sections and diagonals of jds, jds_csr and jds_ell begin.
#pragma once
#include "tulle/format/jds_ell.hpp"

#include "format/detail/check_room.hpp"
#include "format/detail/rows_by_length.hpp"

namespace tulle::detail {

/// Where the diagonals of all rows that are not kept apart begin, and where the last ends.
template <class O>
array<O> jds_diagonals(length_order<O> const& order, cpu const& where) {
  std::size_t const width =
      order.longs < order.rows ? order.length_by_order(order.longs) : std::size_t{0};
  array<O> diag_ptr(width + 1, where.memory);
  diag_ptr[width] =
      static_cast<O>(order.diagonals(order.longs, order.rows, width, 0, diag_ptr.data()));
  return diag_ptr;
}

/// Where sections and their diagonals begin.
template <class I, class O>
struct jagged_sections {
  array<I> place_ptr;
  array<O> section_ptr, diag_ptr;

  jagged_sections(length_order<O> const& order, int section, cpu const& where) {
    auto const least = static_cast<std::size_t>(section);
    std::size_t sections = 0, diags = 0; // no more than entries
    order.each_section(least, [&](std::size_t, std::size_t, std::size_t width) {
      ++sections;
      diags += width;
    });
    place_ptr = array<I>(sections + 1, where.memory);
    section_ptr = array<O>(sections + 1, where.memory);
    diag_ptr = array<O>(diags + 1, where.memory);
    std::size_t s = 0, d = 0, stored = 0;
    order.each_section(least, [&](std::size_t first, std::size_t last, std::size_t width) {
      place_ptr[s] = static_cast<I>(first);
      section_ptr[s++] = static_cast<O>(d);
      stored = order.diagonals(first, last, width, stored, diag_ptr.data() + d);
      d += width;
    });
    place_ptr[sections] = static_cast<I>(order.rows);
    section_ptr[sections] = static_cast<O>(diags);
    diag_ptr[diags] = static_cast<O>(stored);
  }
};

/// Where sections begin; errc::unsupported where they would take too much room.
template <class V, class I, class O>
struct padded_sections {
  array<I> place_ptr;
  array<O> section_ptr;

  padded_sections(length_order<O> const& order, jds_ell_options const& o, std::size_t csr_bytes,
                  cpu const& where) {
    auto const least = static_cast<std::size_t>(o.section);
    std::size_t sections = 0;
    double slots = 0; // what does not fit is known before anything is multiplied
    order.each_section(least, [&](std::size_t first, std::size_t last, std::size_t width) {
      ++sections;
      slots += static_cast<double>(last - first) * static_cast<double>(width);
    });
    check_room("jds_ell",
               slots * (sizeof(V) + sizeof(I)) + 2. * static_cast<double>(order.rows) * sizeof(I) +
                   static_cast<double>(sections) * (sizeof(I) + sizeof(O)) +
                   static_cast<double>(order.rest) * (sizeof(V) + 2 * sizeof(I)),
               csr_bytes, o.limit);
    place_ptr = array<I>(sections + 1, where.memory);
    section_ptr = array<O>(sections + 1, where.memory);
    std::size_t s = 0, stored = 0;
    order.each_section(least, [&](std::size_t first, std::size_t last, std::size_t width) {
      place_ptr[s] = static_cast<I>(first);
      section_ptr[s++] = static_cast<O>(stored);
      stored += (last - first) * width;
    });
    place_ptr[sections] = static_cast<I>(order.rows);
    section_ptr[sections] = narrow<O>(stored, "number of entries with padding");
  }
};

} // namespace tulle::detail
