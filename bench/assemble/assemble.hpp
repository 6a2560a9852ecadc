// SPDX-License-Identifier: Apache-2.0

/// `tulle bench assemble`: the triplets of a matrix, in random order, into csr.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> assemblies(std::string const& matrix, options const& o,
                               std::vector<std::string>& remarks);

} // namespace tulle::bench
