// SPDX-License-Identifier: Apache-2.0

/// `tulle bench multiply_elements`: C = A .* B of two sparse matrices whose patterns differ in
/// part.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> element_products(std::string const& matrix, options const& o,
                                     std::vector<std::string>& remarks);

} // namespace tulle::bench
