// SPDX-License-Identifier: Apache-2.0

/// `tulle bench kron`: the Kronecker product of A and a tridiagonal matrix of 8 rows.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> kronecker_products(std::string const& matrix, options const& o,
                                       std::vector<std::string>& remarks);

} // namespace tulle::bench
