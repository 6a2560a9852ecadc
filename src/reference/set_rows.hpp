// SPDX-License-Identifier: Apache-2.0

// Rows of the identity, and columns moved to the right-hand side: one plain loop over all entries.
#pragma once
#include "tulle/op/set_rows.hpp"

namespace tulle::kernels::reference {

/// set[i]: row i is to be set; value[i] is its x, of set rows alone. b and value may be null.
template <class V, class I, class O>
void set_rows(csr_view<V, I, O> const& a, V* val, std::uint8_t const* set, V const* value,
              detail::row_conditions<V, I> const& c) {
  V* const b = c.has_values ? c.b.data() : nullptr;
  for (I i = 0; i < a.rows; ++i) {
    bool found = false;
    V diagonal(0);
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
      bool const is_diagonal = a.col[k] == i;
      if (set[i]) {
        if (!is_diagonal)
          val[k] = V(0);
        else if (!c.keep_diagonal)
          val[k] = found ? V(0) : c.diagonal;
        found = found || is_diagonal;
        diagonal += is_diagonal ? val[k] : V(0);
      } else if (c.columns && set[a.col[k]]) {
        if (b)
          b[i] -= val[k] * value[a.col[k]];
        val[k] = V(0);
      }
    }
    if (set[i] && b)
      b[i] = diagonal * value[i];
  }
}

} // namespace tulle::kernels::reference
