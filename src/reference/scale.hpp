// SPDX-License-Identifier: Apache-2.0

// s x, and the values of D A and A D: plain loops.
#pragma once
#include "tulle/op/scale.hpp"

namespace tulle::kernels::reference {

template <class V>
void scale(V factor, V* x, std::size_t n) {
  for (std::size_t k = 0; k < n; ++k)
    x[k] = factor == V(0) ? V(0) : factor * x[k];
}

template <class V, class I, class O>
void scale_by_diagonal(detail::diagonal_side side, V const* d, csr_view<V, I, O> const& a, V* to) {
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      to[k] = side == detail::diagonal_side::left ? d[i] * a.val[k] : a.val[k] * d[a.col[k]];
}

} // namespace tulle::kernels::reference
