// SPDX-License-Identifier: Apache-2.0

// sort_by_key.cuh's order of keys in memory that the caller has, as sum_up() of cub.cuh: nothing is
// allocated.
#pragma once
#include "cuda/cub.cuh"

#include <cstddef>

namespace tulle::kernels::cuda {

/// to[k] = k, for all k below n.
template <class O>
void count_up(O* to, std::size_t n, void* stream);

/// The order of keys in [0, lines), equal ones as they are stored: perm has the place of each, and
/// places has 0, 1, 2 and so on. Where room is null, bytes becomes how much of it is wanted.
template <class I, class O>
void order_by(I lines, O nnz, I const* key, O const* places, I* sorted, O* perm, void* room,
              std::size_t& bytes, void* stream);

} // namespace tulle::kernels::cuda
