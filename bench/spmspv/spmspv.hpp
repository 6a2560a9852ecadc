// SPDX-License-Identifier: Apache-2.0

/// `tulle bench spmspv`: y = A x for a sparse x, by columns and by rows, next to spmv.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> sparse_products(std::string const& matrix, options const& o,
                                    std::vector<std::string>& remarks);

} // namespace tulle::bench
