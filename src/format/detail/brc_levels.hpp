// SPDX-License-Identifier: Apache-2.0

/// The options of brc, and the levels that they make of rows by length.
#pragma once
#include "tulle/format/brc.hpp"

#include "format/detail/check_room.hpp"
#include "format/detail/ell_build.hpp"

namespace tulle::detail {

inline void check_brc_options(brc_options const& o) {
  if (o.chunk < 1 || o.chunk > most_chunk)
    fail(errc::unsupported, "brc: option chunk is %d, expected 1 to %d", o.chunk, most_chunk);
  if (o.width < 1)
    fail(errc::unsupported, "brc: option width is %d, expected 1 or more", o.width);
  check_limit("brc", o.limit);
}

/// Before col and val are allocated: they are neither too many nor too large.
template <class V, class I, class O, space S>
void check_brc_size(csr_view<V, I, O, S> const& a, std::size_t blocks, std::size_t stored,
                    double limit) {
  check_room("brc",
             static_cast<double>(stored) * (sizeof(V) + sizeof(I)) +
                 2. * static_cast<double>(a.rows) * sizeof(I) +
                 static_cast<double>(blocks) * sizeof(O),
             bytes_of(a), limit);
  narrow<O>(stored, "number of entries with padding");
}

/// The levels of rows whose lengths longer(k) counts: how many have more than k entries. Returns
/// their blocks; both arrays have room.
template <class I, class Longer>
std::size_t brc_levels(Longer const& longer, std::size_t levels, brc_options const& o,
                       I* level_rows, I* level_ptr) {
  auto const chunk = static_cast<std::size_t>(o.chunk);
  std::size_t blocks = 0;
  for (std::size_t t = 0; t < levels; ++t) {
    std::size_t const n = longer(t * static_cast<std::size_t>(o.width));
    level_rows[t] = static_cast<I>(n);
    level_ptr[t] = static_cast<I>(blocks);
    blocks += (n + chunk - 1) / chunk;
  }
  level_ptr[levels] = narrow<I>(blocks, "number of blocks");
  return blocks;
}

} // namespace tulle::detail
