// SPDX-License-Identifier: Apache-2.0

// alpha A B + beta D as one product: stacked.cu.
#pragma once
#include "cuda/convert/canonical.cuh"

namespace tulle::kernels::cuda {

/// [alpha A, beta I] and B over D. An entry of their product is that of alpha A B, then plus beta
/// d. As on the host, a factor of zero reads no values. Waits for the stream.
template <class V, class I, class O>
struct stacked {
  scratch_csr<V, I, O> left, right;
  bool are_canonical;
};
template <class V, class I, class O>
stacked<V, I, O> stack(V alpha, device_csr<V, I, O> const& a, device_csr<V, I, O> const& b, V beta,
                       device_csr<V, I, O> const& d, void* stream);

} // namespace tulle::kernels::cuda
