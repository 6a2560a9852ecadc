// SPDX-License-Identifier: Apache-2.0

/// `tulle bench read`: a Matrix Market file into memory.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> reads(std::string const& matrix, options const& o,
                          std::vector<std::string>& remarks);

} // namespace tulle::bench
