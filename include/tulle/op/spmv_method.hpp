// SPDX-License-Identifier: Apache-2.0

/// How a product is computed, where a format has more than one way. All give the product within
/// rounding, each the same bits for every number of threads; between methods bits may differ.
#pragma once
#include "tulle/version.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle {

enum class spmv_method : std::uint8_t {
  automatic, ///< what suits the matrix: of csr on cpu, rows
  rows,      ///< whole rows; on cpu each block of them by the loop that suits their lengths
  merge,     ///< merge path: equal shares of entries and row ends, step by step
  segments,  ///< segmented sum over tiles of entries; on cpu rows are guessed and then repaired
};

constexpr char const* name(spmv_method m) {
  constexpr char const* names[] = {"automatic", "rows", "merge", "segments"};
  return names[static_cast<std::size_t>(m)];
}

struct spmv_options {
  /// One of spmv_methods(format); else errc::unsupported. The transpose has only automatic. The
  /// reference has one loop and ignores the method.
  spmv_method method = spmv_method::automatic;
};

} // namespace tulle
