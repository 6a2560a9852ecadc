// SPDX-License-Identifier: Apache-2.0

/// `tulle bench transpose`: C = A^T, a new matrix each call, or new values on a known pattern.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> transposes(std::string const& matrix, options const& o,
                               std::vector<std::string>& remarks);

} // namespace tulle::bench
