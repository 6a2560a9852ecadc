// SPDX-License-Identifier: Apache-2.0

/// `tulle bench compare`: what got slower or faster between two runs.
#pragma once
#include "bench/record.hpp"

#include <string>
#include <vector>

namespace tulle::bench {

struct difference {
  record old_one, new_one;
  double factor = 1; ///< speed of the new one over the old: above 1 is faster
  double noise = 0;  ///< what both runs say that a factor may be off by
  bool is_beyond(double threshold) const;
};

struct comparison {
  std::vector<difference> rows; ///< slowest first
  std::vector<std::string> only_old, only_new;
};

/// Rows that are the same measurement: matrix, operation, contestant, types, threads, caches. Where
/// there is a bound the ratios to it are compared, since they move less than times.
comparison compare(results const& before, results const& after);

/// What lies beyond noise and threshold, and a summary of the rest.
std::string text_of(comparison const& c, double threshold);

} // namespace tulle::bench
