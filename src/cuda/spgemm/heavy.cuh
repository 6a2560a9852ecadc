// SPDX-License-Identifier: Apache-2.0

// Few rows of C with many products in a window of columns: heavy.cu.
#pragma once
#include "cuda/spgemm/pattern.cuh"

namespace tulle::kernels::cuda {

/// Whether the heavy rows are few enough among so many rows, and the device has the memory. If not,
/// they become window rows.
template <class V, class I, class O>
bool takes_heavy(product_state const& p, std::size_t rows);

template <class I, class O>
void count_heavy(product_state const& p, pattern<I, O> const& a, pattern<I, O> const& b, O* counts);

template <class V, class I, class O>
void fill_heavy(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                O const* c_ptr, I* c_col, V* c_val, bool with_columns);

} // namespace tulle::kernels::cuda
