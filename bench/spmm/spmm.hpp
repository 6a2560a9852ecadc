// SPDX-License-Identifier: Apache-2.0

/// `tulle bench spmm`: Y = A X for each number of columns.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> spmm(std::string const& matrix, options const& o,
                         std::vector<std::string>& remarks);

} // namespace tulle::bench
