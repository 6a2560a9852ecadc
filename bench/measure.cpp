// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.hpp"

#include "tulle/core/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tulle::bench {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void flush_caches() {
  static std::vector<char> big(4 * std::max(machine::here().l3, std::size_t{64} << 20));
  for (std::size_t i = 0; i < big.size(); i += 64)
    ++big[i];
}

timing summary(std::vector<double>& t) {
  std::sort(t.begin(), t.end());
  auto const at = [&](double q) {
    return t[static_cast<std::size_t>(q * static_cast<double>(t.size() - 1) + .5)];
  };
  return {at(.5), t.front(), (at(.75) - at(.25)) / at(.5)};
}

} // namespace

double seconds_of(std::function<void()> const& call) {
  double const start = now();
  call();
  return now() - start;
}

std::vector<timing> measure(std::vector<std::function<void()>> const& calls,
                            measure_options const& options) {
  constexpr double least_turn =
      2e-3; // below a millisecond the clock and the wake-up of threads show
  std::vector<int> repeats;
  std::vector<std::vector<double>> times(calls.size());
  std::vector<double> spent(calls.size());
  for (auto const& call : calls) {
    call();
    double const once = std::max(seconds_of(call), 1e-7);
    repeats.push_back(options.cold ? 1
                                   : std::max(1, static_cast<int>(std::ceil(least_turn / once))));
  }
  for (bool more = true; more;) {
    more = false;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      if (spent[c] >= options.seconds &&
          times[c].size() >= static_cast<std::size_t>(options.least_turns))
        continue;
      more = true;
      double const turn = now();
      if (options.cold)
        flush_caches();
      else
        calls[c]();
      double const start = now();
      for (int r = 0; r < repeats[c]; ++r)
        calls[c]();
      double const end = now();
      times[c].push_back((end - start) / repeats[c]);
      spent[c] += end - turn;
    }
  }
  std::vector<timing> result;
  for (auto& t : times)
    result.push_back(summary(t));
  return result;
}

} // namespace tulle::bench
