// SPDX-License-Identifier: Apache-2.0

/// The machine and the run that records come from.
#pragma once
#include "bench/load.hpp"
#include "bench/options.hpp"
#include "bench/record.hpp"

namespace tulle::bench {

/// Made before the first measurement, asked after the last.
class run_watch {
public:
  explicit run_watch(options const& o) : options_(o) {}
  run_info info(std::vector<std::string> const& remarks) const;

private:
  options options_;
  load_meter load_;
};

} // namespace tulle::bench
