// SPDX-License-Identifier: Apache-2.0

// op(T)*X = alpha*B, T the lower or upper triangle of a CSR matrix: one plain loop. Every kernel
// answers to it.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/view/dense.hpp"

#include <cstdint>

namespace tulle::kernels::reference {

/// The sum of row i's entries on the diagonal, in the order they are stored.
template <class V, class I, class O>
V diagonal_of(csr_view<V, I, O> const& a, I i) {
  V d(0);
  for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
    if (a.col[k] == i)
      d += a.val[k];
  return d;
}

/// The first row whose entry on the diagonal is missing or zero; -1: none.
template <class V, class I, class O>
std::int64_t singular_row(csr_view<V, I, O> const& a) {
  for (I i = 0; i < a.rows; ++i)
    if (diagonal_of(a, i) == V(0))
      return static_cast<std::int64_t>(i);
  return -1;
}

/// X may be B. value(v) is v or its conjugate.
template <class V, class I, class O, class Value>
void trsv(V alpha, csr_view<V, I, O> const& a, bool lower, bool transposed, bool unit, Value value,
          dense_view<V const> b, dense_view<V> x) {
  for (std::size_t i = 0; i < x.rows; ++i)
    for (std::size_t j = 0; j < x.cols; ++j)
      x(i, j) = alpha * b(i, j);
  for (I n = 0; n < a.rows; ++n) {
    I const i = lower != transposed ? n : a.rows - 1 - n;
    auto const row = static_cast<std::size_t>(i);
    for (std::size_t j = 0; j < x.cols; ++j) {
      if (transposed && !unit)
        x(row, j) /= value(diagonal_of(a, i));
      for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
        auto const other = static_cast<std::size_t>(a.col[k]);
        if (lower ? other >= row : other <= row)
          continue;
        if (transposed)
          x(other, j) -= value(a.val[k]) * x(row, j);
        else
          x(row, j) -= value(a.val[k]) * x(other, j);
      }
      if (!transposed && !unit)
        x(row, j) /= value(diagonal_of(a, i));
    }
  }
}

} // namespace tulle::kernels::reference
