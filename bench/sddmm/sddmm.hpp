// SPDX-License-Identifier: Apache-2.0

/// `tulle bench sddmm`: C = (X Y^T) .* spy(A) with a few columns in X and Y.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> sampled_products(std::string const& matrix, options const& o,
                                     std::vector<std::string>& remarks);

} // namespace tulle::bench
