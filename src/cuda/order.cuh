// SPDX-License-Identifier: Apache-2.0

// The order of keys as in sort_by_key.cuh, in memory of the caller, as sum_up() of cub.cuh: nothing
// is allocated.
#pragma once
#include "cuda/cub.cuh"

#include <cstddef>

namespace tulle::kernels::cuda {

/// to[k] = k, for all k below n.
template <class O>
void count_up(O* to, std::size_t n, void* stream);

/// A stable order of keys in [0, lines): perm gets the places, and places holds 0, 1, 2 and so on.
/// If room is null, bytes is set to how much is needed.
template <class I, class O>
void order_by(I lines, O nnz, I const* key, O const* places, I* sorted, O* perm, void* room,
              std::size_t& bytes, void* stream);

} // namespace tulle::kernels::cuda
