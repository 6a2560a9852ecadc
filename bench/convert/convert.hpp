// SPDX-License-Identifier: Apache-2.0

/// `tulle bench convert`: from csr into every format.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> conversions(std::string const& matrix, options const& o,
                                std::vector<std::string>& remarks);

} // namespace tulle::bench
