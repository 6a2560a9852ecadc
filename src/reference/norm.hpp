// SPDX-License-Identifier: Apache-2.0

// Norms of a canonical matrix: plain loops.
#pragma once
#include "tulle/op/norm.hpp"

#include "reference/dense_level1.hpp"

namespace tulle::kernels::reference {

template <class V, class I, class O>
real_t<V> norm(csr_view<V, I, O> const& a, norm_kind kind, std::pmr::memory_resource* memory) {
  auto const entries = all_of(a.val, static_cast<std::size_t>(a.nnz));
  if (kind == norm_kind::frobenius)
    return norm2(entries);
  if (kind == norm_kind::max)
    return norm_inf(entries);
  bool const by_rows = kind == norm_kind::inf;
  array<double> sum(static_cast<std::size_t>(by_rows ? a.rows : a.cols), 0.0, memory);
  for (I i = 0; i < a.rows; ++i)
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      sum[static_cast<std::size_t>(by_rows ? i : a.col[k])] +=
          static_cast<double>(modulus(a.val[k]));
  return static_cast<real_t<V>>(norm_inf(all_of(sum.data(), sum.size())));
}

} // namespace tulle::kernels::reference
