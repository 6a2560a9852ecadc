// SPDX-License-Identifier: Apache-2.0

/// `tulle bench primitive`: merges, intersections and sorts of many short sorted lists.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> list_calls(std::string const& spec, options const& o,
                                 std::vector<std::string>& remarks);

} // namespace tulle::bench
