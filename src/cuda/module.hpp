// SPDX-License-Identifier: Apache-2.0

// The words of the seam, as the module's own files spell them.
#pragma once
#include "backend/backend.hpp"

namespace tulle {

using cuda_status = outcome;
using cuda_spmv_kernel = spmv_kernel;
using cuda_spmm_kernel = spmm_kernel;
using cuda_result = result_memory;
using cuda_conversion = conversion;
using cuda_memory = growing_memory;
using cuda_dynamic_options = dynamic_request;
using cuda_batch = dynamic_batch;
using cuda_dynamic_shape = dynamic_facts;
using cuda_dynamic_kernel = dynamic_kernel;

} // namespace tulle
