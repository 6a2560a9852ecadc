// SPDX-License-Identifier: Apache-2.0

/// `tulle bench dynamic`: matrices that grow.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> growths(std::string const& matrix, options const& o,
                            std::vector<std::string>& remarks);

} // namespace tulle::bench
