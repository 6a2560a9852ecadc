// SPDX-License-Identifier: Apache-2.0

// What cells.inc needs: the row of a format.
#pragma once
#include "tulle/core/registry.hpp"

#include "backend/backend.hpp"

namespace tulle {

/// The kernels of one format, in the order of type_tag; nullptr where there is none.
struct kernel_row {
  spmv_kernel const* spmv[type_count];
  spmm_kernel const* spmm[type_count];
  conversion const* convert[type_count];
};

using enum detail::backend_word; // the words of formats.def

} // namespace tulle
