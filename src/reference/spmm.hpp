// SPDX-License-Identifier: Apache-2.0

// C = alpha*A*B + beta*C, A in CSR or its transpose: one plain loop. Every kernel answers to it.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/view/dense.hpp"

namespace tulle::kernels::reference {

template <class V, class I, class O>
void spmm(V alpha, csr_view<V, I, O> const& a, bool transposed, dense_view<V const> b, V beta,
          dense_view<V> c) {
  for (std::size_t i = 0; i < c.rows; ++i)
    for (std::size_t j = 0; j < c.cols; ++j)
      c(i, j) = beta == V(0) ? V(0) : beta * c(i, j);
  if (alpha == V(0))
    return;
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
      auto const row = static_cast<std::size_t>(transposed ? a.col[k] : i);
      auto const from = static_cast<std::size_t>(transposed ? i : a.col[k]);
      for (std::size_t j = 0; j < c.cols; ++j)
        c(row, j) += alpha * a.val[k] * b(from, j);
    }
}

} // namespace tulle::kernels::reference
