// SPDX-License-Identifier: Apache-2.0

/// How two sparse vectors are added. All methods give the same bits.
#pragma once
#include "tulle/version.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle {

enum class add_method : std::uint8_t {
  automatic, ///< the one that was fastest for the sum of the two lengths
  spa,       ///< a dense accumulator as long as the vector
  heap,      ///< all entries into a heap, out of it by index
  esc,       ///< expand, sort by a network, compress
  merge,     ///< repeatedly the smaller of the two next entries
};

constexpr char const* name(add_method m) {
  constexpr char const* names[] = {"automatic", "spa", "heap", "esc", "merge"};
  return names[static_cast<std::size_t>(m)];
}

struct add_options {
  add_method method = add_method::automatic;
};

} // namespace tulle
