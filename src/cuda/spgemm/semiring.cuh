// SPDX-License-Identifier: Apache-2.0

// Products over a semiring on a known pattern, and the entries that a mask keeps: semiring.cu.
#pragma once
#include "cuda/convert/convert.cuh"
#include "cuda/spgemm/pattern.cuh"

namespace tulle::kernels::cuda {

/// val[k], at the k-th place of t: the sum over p's semiring of the products at that place. has[k]
/// says whether there is any; without `has`, t must have the places of A B.
template <class V, class I, class O>
void fill_semiring(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                   pattern<I, O> const& t, V* val, std::uint8_t* has, bool is_asked);

/// has[k]: the k-th place of t is not in the mask.
template <class I, class O>
void find_outside(pattern<I, O> const& t, pattern<I, O> const& mask, std::uint8_t* has,
                  void* stream);

/// The places k of t with has[k], and their values. Waits for the device.
template <class V, class I, class O>
device_csr<V, I, O> leave(device_csr<V, I, O> const& t, V const* val, std::uint8_t const* has,
                          result const& to);

} // namespace tulle::kernels::cuda
