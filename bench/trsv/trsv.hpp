// SPDX-License-Identifier: Apache-2.0

/// `tulle bench trsv` and `trsm`: T X = B, where T has the pattern of a triangle of the matrix, as
/// the factors of an incomplete LU without fill have, and a diagonal that outweighs its rows.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> trsv(std::string const& matrix, options const& o,
                         std::vector<std::string>& remarks);
std::vector<record> trsm(std::string const& matrix, options const& o,
                         std::vector<std::string>& remarks);

} // namespace tulle::bench
