// SPDX-License-Identifier: Apache-2.0

// y = alpha B x + beta y of a dense B and a sparse x: one plain loop.
#pragma once
#include "tulle/format/sparse_vector.hpp"
#include "tulle/view/dense.hpp"

namespace tulle::kernels::reference {

template <class V, class I>
void dense_spmspv(V alpha, dense_view<V const> b, sparse_vector_view<V, I> x, V beta, V* y) {
  for (std::size_t i = 0; i < b.rows; ++i) {
    V sum(0);
    for (I e = 0; e < x.nnz && alpha != V(0); ++e)
      sum += b(i, static_cast<std::size_t>(x.index[e])) * x.val[e];
    y[i] = (alpha == V(0) ? V(0) : alpha * sum) + (beta == V(0) ? V(0) : beta * y[i]);
  }
}

} // namespace tulle::kernels::reference
