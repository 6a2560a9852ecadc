// SPDX-License-Identifier: Apache-2.0

// Rows of C with few products in columns far apart: sorted.cu.
#pragma once
#include "cuda/spgemm/pattern.cuh"

namespace tulle::simt {

template <class I, class O>
void count_sorted(cuda_product const& p, pattern<I, O> const& a, pattern<I, O> const& b, O* counts);
template <class I, class O>
void write_sorted_columns(cuda_product const& p, pattern<I, O> const& a, pattern<I, O> const& b,
                          O* c_ptr, I* c_col);

template <class V, class I, class O>
void fill_sorted(cuda_product const& p, operand<V, I, O> const& a, operand<V, I, O> const& b,
                 O const* c_ptr, I const* c_col, V* c_val);

} // namespace tulle::simt
