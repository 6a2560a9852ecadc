// SPDX-License-Identifier: Apache-2.0

/// `tulle bench add`: C = alpha A + B of two sparse matrices whose patterns differ in part.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> sums(std::string const& matrix, options const& o,
                         std::vector<std::string>& remarks);

} // namespace tulle::bench
