// SPDX-License-Identifier: Apache-2.0

/// Dense operands of a benchmark, and whether a dense result is right.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/format/csr.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace tulle::bench {

/// n values, exact in float and all positive: no cancellation, so a relative check is a sharp one.
template <class V>
array<V> operand(std::size_t n) {
  array<V> x(n);
  for (std::size_t j = 0; j < n; ++j)
    x[j] = static_cast<V>(1 + static_cast<double>(j * 7 % 13) / 16);
  return x;
}

/// Whether y = A x for row-major x and y of `columns` columns, row by row: |y_i - s_i| at most
/// (n_i + 2) eps sum |a_ij x_j| for s in extended precision.
template <class V, class I>
bool is_product(csr_view<V, I, I> a, V const* x, V const* y, std::size_t columns = 1) {
  auto const rows = static_cast<std::size_t>(a.rows);
  int const parts = tulle::parts_for(static_cast<std::size_t>(a.nnz) * columns, 0);
  std::vector<char> good(static_cast<std::size_t>(parts), 1);
  tulle::parallel(parts, [&](int part) {
    for (std::size_t i = tulle::split(rows, part, parts), end = tulle::split(rows, part + 1, parts);
         i < end; ++i)
      for (std::size_t c = 0; c < columns; ++c) {
        long double sum = 0;
        long double size = 0;
        for (I k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
          long double const product = static_cast<long double>(a.val[k]) *
                                      x[static_cast<std::size_t>(a.col[k]) * columns + c];
          sum += product;
          size += std::fabs(product);
        }
        long double const allowed = static_cast<long double>(a.row_ptr[i + 1] - a.row_ptr[i] + 2) *
                                    std::numeric_limits<V>::epsilon() * size;
        if (!(std::fabs(static_cast<long double>(y[i * columns + c]) - sum) <= allowed))
          good[static_cast<std::size_t>(part)] = 0;
      }
  });
  return std::find(good.begin(), good.end(), 0) == good.end();
}

} // namespace tulle::bench
