// SPDX-License-Identifier: Apache-2.0

// C = alpha (A B) .* spy(C) + beta C: one plain loop over the entries of C.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/view/dense.hpp"

namespace tulle::kernels::reference {

/// times_values: C = alpha (A B) .* C.
template <class V, class I, class O>
void sddmm(V alpha, dense_view<V const> a, dense_view<V const> b, V beta,
           csr_view<V, I, O> const& c, bool times_values, V* to) {
  for (I i = 0; i < c.rows; ++i)
    for (O e = c.row_ptr[i]; e < c.row_ptr[i + 1]; ++e) {
      V dot(0);
      for (std::size_t p = 0; p < a.cols; ++p)
        dot += a(static_cast<std::size_t>(i), p) * b(p, static_cast<std::size_t>(c.col[e]));
      bool first = true; // of its place
      for (O before = c.row_ptr[i]; before < e; ++before)
        first = first && c.col[before] != c.col[e];
      if (times_values)
        to[e] = alpha * dot * c.val[e];
      else
        to[e] = (first ? alpha * dot : V(0)) + (beta == V(0) ? V(0) : beta * c.val[e]);
    }
}

} // namespace tulle::kernels::reference
