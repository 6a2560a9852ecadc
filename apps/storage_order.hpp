// SPDX-License-Identifier: Apache-2.0

/// Where a layout keeps the entries of a small matrix: what `tulle spy --format` colours by.
#pragma once
#include "tulle/core/any_matrix.hpp"

#include <cstddef>
#include <vector>

namespace tulle::app {

struct storage_order {
  struct entry {
    std::size_t row, col;
    std::size_t place; ///< among the slots for values, 0 for the first
  };
  std::vector<entry> entries; ///< row by row
  std::size_t slots = 0;      ///< for values, those that hold no entry included
};

/// Of a csr whose rows are sorted, without duplicates; its values do not matter. Of a layout that
/// keeps one triangle, both entries of a pair have the place of the one that is kept. Throws what
/// convert() throws, and errc::unsupported for a layout that does not keep every value.
storage_order storage_order_of(any_matrix const& csr, tulle::layout const& layout);

} // namespace tulle::app
