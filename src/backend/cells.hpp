// SPDX-License-Identifier: Apache-2.0

// What cells.inc needs: the row of a format, and the words of formats.def.
#pragma once
#include "tulle/core/types.hpp"

#include "backend/backend.hpp"

namespace tulle {

/// The kernels of one format, in the order of type_tag; nullptr where there is none.
struct kernel_row {
  spmv_kernel const* spmv[type_count];
  spmm_kernel const* spmm[type_count];
  conversion const* convert[type_count];
};

enum backend_word : unsigned { NONE = 0, CPU = 1, CUDA = 2, OPENCL = 4 };
constexpr backend_word operator|(backend_word a, backend_word b) {
  return static_cast<backend_word>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

} // namespace tulle
