// SPDX-License-Identifier: Apache-2.0

/// Sets of matrices by name.
#pragma once
#include "bench/options.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<std::string> const& suite_names();
/// What is to be measured: the matrices named, else the suite for that operation. What a suite
/// leaves out is a remark.
std::vector<std::string> matrices_of(options const& o, std::string const& op,
                                     std::vector<std::string>& remarks);

} // namespace tulle::bench
