// SPDX-License-Identifier: Apache-2.0

/// How long a conversion takes, for contestant::convert_seconds.
#pragma once
#include <chrono>

namespace tulle::bench {

template <class Work>
double seconds_of(Work const& work) {
  auto const start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace tulle::bench
