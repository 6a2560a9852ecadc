// SPDX-License-Identifier: Apache-2.0

// Values of C on a known pattern by a map of its products: mapped.cu.
#pragma once
#include "cuda/spgemm/pattern.cuh"

namespace tulle::kernels::cuda {

/// Makes the map of A B = C if it is worth its memory and there is enough; then p keeps nothing
/// else. Waits for the device.
template <class I, class O>
void map_products(product_state& p, pattern<I, O> const& a, pattern<I, O> const& b,
                  pattern<I, O> const& c, std::size_t entry_bytes, result_memory const& keep);

template <class V, class I, class O>
void fill_mapped(product_state const& p, V const* a_val, V const* b_val, V* c_val);

} // namespace tulle::kernels::cuda
