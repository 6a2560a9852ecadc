// SPDX-License-Identifier: Apache-2.0
#include "bench/load.hpp"

#include <fstream>
#include <tuple>

namespace tulle::bench {
namespace {

// Ticks since the machine started: stolen, and all. See proc(5): the eighth number is steal.
std::pair<double, double> ticks() {
  std::ifstream stat("/proc/stat");
  std::string word;
  stat >> word;
  double stolen = 0;
  double total = 0;
  double ticks = 0;
  for (int column = 0; column < 8 && stat >> ticks; ++column) {
    total += ticks;
    stolen = ticks;
  }
  return {stolen, total};
}

} // namespace

load_meter::load_meter() {
  std::tie(stolen_, total_) = ticks();
}

double load_meter::steal() const {
  auto const [stolen, total] = ticks();
  return total > total_ ? (stolen - stolen_) / (total - total_) : 0;
}

} // namespace tulle::bench
