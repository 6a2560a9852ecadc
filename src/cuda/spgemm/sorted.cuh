// SPDX-License-Identifier: Apache-2.0

// Rows of C with few products in columns far apart: sorted.cu.
#pragma once
#include "cuda/spgemm/pattern.cuh"

namespace tulle::kernels::cuda {

/// Bins of up to 1024 and 4096 products.
struct sorted_bins {
  row_bin m, l;
};
inline constexpr sorted_bins of_short_terms = {row_bin::short_m, row_bin::short_l};
inline constexpr sorted_bins of_long_terms = {row_bin::long_m, row_bin::long_l};

inline std::size_t long_rows(product_state const& p) {
  return rows_in(p, row_bin::long_m) + rows_in(p, row_bin::long_l);
}

/// Records in `found`, if that is not nullptr, which classes there are.
template <class I, class O>
void count_sorted(product_state const& p, sorted_bins which, pattern<I, O> const& a,
                  pattern<I, O> const& b, O* counts, window_found* found);
template <class I, class O>
void write_sorted_columns(product_state const& p, sorted_bins which, pattern<I, O> const& a,
                          pattern<I, O> const& b, O* c_ptr, I* c_col);

/// C's values, once its columns are known.
template <class V, class I, class O>
void fill_sorted(product_state const& p, sorted_bins which, operand<V, I, O> const& a,
                 operand<V, I, O> const& b, O const* c_ptr, I const* c_col, V* c_val);

} // namespace tulle::kernels::cuda
