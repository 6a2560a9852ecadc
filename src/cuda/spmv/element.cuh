// SPDX-License-Identifier: Apache-2.0

// The ways in which kernels read x.
#pragma once

namespace tulle::kernels::cuda {

/// x[j], for a kernel that takes either type of x.
template <class V, class I>
__device__ V element(V const* x, I j) {
  return __ldg(x + j);
}
/// x, and the elements gathered from it.
template <class V, class I>
struct hot_and_rest {
  V const* hot;
  V const* rest;
};
template <class V, class I>
__device__ V element(hot_and_rest<V, I> x, I j) {
  return __ldg(j < 0 ? x.hot + ~j : x.rest + j);
}

} // namespace tulle::kernels::cuda
