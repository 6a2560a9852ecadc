// SPDX-License-Identifier: Apache-2.0

// What passes between op/sddmm and its kernels.
#pragma once
#include "tulle/core/types.def"
#include "tulle/view/dense.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle {

/// to[k] = alpha (A B)(i, j) + beta val[k] for entry k at (i, j) of a csr; or, times its values,
/// alpha (A B)(i, j) val[k].
struct sddmm_call {
  void const* alpha;
  detail::dense_ref a;
  detail::dense_ref b;
  void const* beta;
  void const* c;               // csr_view<V, I, O>
  bool times_values;           // beta is not read
  std::uint8_t const* repeats; // a byte per entry: 1 where its place comes earlier in the row, so
                               // that the product is not added again; nullptr: there are none
  void* to;
};

/// One cell of an instruction set's table: entries [first, last) with one thread.
struct sddmm_kernel {
  void (*run)(sddmm_call const& call, std::int64_t first, std::int64_t last);
};

} // namespace tulle
