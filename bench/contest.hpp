// SPDX-License-Identifier: Apache-2.0

/// One problem, all who compute it: each is verified, then all are measured in turns.
#pragma once
#include "bench/contestant.hpp"
#include "bench/options.hpp"
#include "bench/record.hpp"

#include <functional>
#include <string>
#include <vector>

namespace tulle::bench {

struct contest {
  record about;            ///< matrix, sizes, operation, types, threads: what all records share
  double flops = 0;        ///< of one call
  double bound_bytes = 0;  ///< what the bound moves; 0: there is none
  double moved_bytes = 0;  ///< by everyone, where the matrix in memory is not what counts: a file
  double vector_bytes = 0; ///< moved beside the matrix
  std::vector<contestant> contestants; ///< with the bound among them, where there is one
  /// Whether what the last run of that one left is right.
  std::function<bool(contestant const&)> verify;
};

/// A contestant whose result is wrong, or who throws, is in the records as such and is not timed.
std::vector<record> hold(contest const& c, options const& o, std::vector<std::string>& remarks);

} // namespace tulle::bench
