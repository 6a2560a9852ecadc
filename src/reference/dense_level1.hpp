// SPDX-License-Identifier: Apache-2.0

// Dense vectors, one plain loop an operation. Every other form answers to these.
#pragma once
#include "reference/level1.hpp"

namespace tulle::kernels::reference {

template <class V>
V dot(V const* x, V const* y, std::size_t n, bool conjugate) {
  V sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    sum += conjugate_if(conjugate, x[i]) * y[i];
  return sum;
}

template <class V>
void axpy(V alpha, V const* x, V* y, std::size_t n) {
  for (std::size_t i = 0; i < n && alpha != V(0); ++i)
    y[i] += alpha * x[i];
}

/// Of a dense vector as of a sparse one with all places.
template <class V>
sparse_vector_view<V, std::int64_t> all_of(V const* x, std::size_t n) {
  return {unchecked, static_cast<std::int64_t>(n), static_cast<std::int64_t>(n), nullptr, x};
}

} // namespace tulle::kernels::reference
