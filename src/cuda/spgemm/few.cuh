// SPDX-License-Identifier: Apache-2.0

// Rows of C with up to 256 products of at most 32 rows of B, in columns far apart: few.cu.
#pragma once
#include "cuda/spgemm/pattern.cuh"

namespace tulle::kernels::cuda {

template <class I, class O>
void count_few(product_state const& p, pattern<I, O> const& a, pattern<I, O> const& b, O* counts);

template <class V, class I, class O>
void fill_few(product_state const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
              O const* c_ptr, I* c_col, V* c_val, bool with_columns);

} // namespace tulle::kernels::cuda
