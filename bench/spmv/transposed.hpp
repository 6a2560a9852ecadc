// SPDX-License-Identifier: Apache-2.0

/// `tulle bench spmv --transposed`: y = A^T x of matrices in CSR and CSC.
#pragma once
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

std::vector<record> spmv_transposed(std::string const& matrix, options const& o,
                                    std::vector<std::string>& remarks);

} // namespace tulle::bench
