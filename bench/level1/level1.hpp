// SPDX-License-Identifier: Apache-2.0

/// `tulle bench level1`: sparse vectors with dense ones, and with each other.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> vector_calls(std::string const& spec, options const& o,
                                 std::vector<std::string>& remarks);

} // namespace tulle::bench
