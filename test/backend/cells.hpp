// SPDX-License-Identifier: Apache-2.0

// The table's parts, each with its file.
#pragma once
#include "test/backend/queue.hpp"

namespace tulle::test_device {

spmv_kernel const* spmv(int format, int type);
spmm_kernel const* spmm(int format, int type);
conversion const* convert(int format, int type);
product_kernel const* spgemm(int type);

} // namespace tulle::test_device
