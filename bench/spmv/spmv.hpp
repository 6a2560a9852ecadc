// SPDX-License-Identifier: Apache-2.0

/// `tulle bench spmv`: every format and every peer on one matrix.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> spmv(std::string const& matrix, options const& o,
                         std::vector<std::string>& remarks);

} // namespace tulle::bench
