// SPDX-License-Identifier: Apache-2.0

/// Timing, always the same way: contestants take turns, so that a noisy neighbour hits all of them.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

namespace tulle::bench {

struct timing {
  double median = 0;
  double fastest = 0;
  double spread = 0; ///< between the quartiles, over the median
};

struct measure_options {
  double seconds = 1.0; ///< for each contestant
  int least_turns = 9;
  bool cold = false; ///< flush the caches before each call
};

/// Times each of `calls`. A turn is one call to warm up and then enough to take two milliseconds;
/// turns go round the contestants until each has had its time.
std::vector<timing> measure(std::vector<std::function<void()>> const& calls,
                            measure_options const& options);

/// Seconds of one call.
double seconds_of(std::function<void()> const& call);

/// A piece of memory that a call must read at least once.
struct stretch {
  void const* data;
  std::size_t bytes;
};
/// Reads all of it once, as fast as the threads can: the bound that kernels are measured against.
void stream(std::vector<stretch> const& memory, int threads);

} // namespace tulle::bench
