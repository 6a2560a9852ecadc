// SPDX-License-Identifier: Apache-2.0

/// `tulle bench spmv`: every format and every peer on one matrix.
#pragma once
#include "bench/options.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

/// Measures one matrix.
std::vector<record> spmv(std::string const& matrix, options const& o);

} // namespace tulle::bench
