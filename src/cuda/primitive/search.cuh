// SPDX-License-Identifier: Apache-2.0

// Binary search by one thread.
#pragma once

namespace tulle::kernels::cuda {

/// The first of p[0..n) that is at least `wanted`; n where there is none.
template <class T, class N>
__device__ N lower_bound(T const* p, N n, T wanted) {
  N first = 0;
  while (n > 0) {
    N const half = n / 2;
    bool const below = p[first + half] < wanted;
    first = below ? first + half + 1 : first;
    n = below ? n - half - 1 : half;
  }
  return first;
}
/// The first of p[0..n) that is greater than `wanted`.
template <class T, class N>
__device__ N upper_bound(T const* p, N n, T wanted) {
  N first = 0;
  while (n > 0) {
    N const half = n / 2;
    bool const below = p[first + half] <= wanted;
    first = below ? first + half + 1 : first;
    n = below ? n - half - 1 : half;
  }
  return first;
}

/// The number of row ends before the point where diagonal d crosses the merge path of row ends and
/// entries.
template <class O, class N>
__device__ N merge_path(O const* row_end, N rows, O nnz, long long d) {
  N low = d > nnz ? static_cast<N>(d - nnz) : N(0);
  N high = d < rows ? static_cast<N>(d) : rows;
  while (low < high) {
    N const middle = low + (high - low) / 2;
    if (row_end[middle] < d - middle)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

} // namespace tulle::kernels::cuda
