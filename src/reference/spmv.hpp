// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y, A in CSR or its transpose: one plain loop. Every kernel answers to it.
#pragma once
#include "tulle/format/csr.hpp"

namespace tulle::kernels::reference {

template <class V, class I, class O>
void spmv(V alpha, csr_view<V, I, O> const& a, bool transposed, V const* x, V beta, V* y) {
  I const y_size = transposed ? a.cols : a.rows;
  for (I i = 0; i < y_size; ++i)
    y[i] = beta == V(0) ? V(0) : beta * y[i];
  if (alpha == V(0))
    return;
  for (I i = 0; i < a.rows; ++i) {
    V sum = 0;
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
      if (transposed)
        y[a.col[k]] += alpha * a.val[k] * x[i];
      else
        sum += a.val[k] * x[a.col[k]];
    }
    if (!transposed)
      y[i] += alpha * sum;
  }
}

} // namespace tulle::kernels::reference
