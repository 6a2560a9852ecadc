// SPDX-License-Identifier: Apache-2.0

// d(i) = a(i, i + k): one plain loop over all entries.
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle::kernels::reference {

template <class V, class I, class O>
void diagonal(csr_view<V, I, O> const& a, std::int64_t k, V* d, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    d[i] = V(0);
  for (I i = 0; i < a.rows; ++i)
    for (O p = a.row_ptr[i]; p < a.row_ptr[i + 1]; ++p)
      if (static_cast<std::int64_t>(a.col[p]) - static_cast<std::int64_t>(i) == k)
        d[k >= 0 ? i : a.col[p]] += a.val[p];
}

} // namespace tulle::kernels::reference
