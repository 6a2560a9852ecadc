// SPDX-License-Identifier: Apache-2.0
#include "bench/sweep.hpp"

#include "tulle/core/error.hpp"

#include "apps/support/options.hpp"

#include <charconv>
#include <sstream>

namespace tulle::bench {

std::vector<sweep_point> sweep_points(std::string const& text) {
  if (text.empty())
    return {{}};
  auto const equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    fail(errc::unsupported, "--sweep %s: expected option=a,b,c", text.c_str());
  std::string const option = text.substr(0, equals);
  if (option != "threads")
    fail(errc::unsupported, "--sweep %s: no option is called '%s'; there is: threads", text.c_str(),
         option.c_str());
  std::vector<sweep_point> points;
  std::istringstream values(text.substr(equals + 1));
  for (std::string value; std::getline(values, value, ',');) {
    points.push_back({option, value});
    number_of(points.back());
  }
  return points;
}

int number_of(sweep_point const& point) {
  int n = 0;
  char const* const end = point.value.data() + point.value.size();
  auto const [stop, code] = std::from_chars(point.value.data(), end, n);
  if (code != std::errc() || stop != end || n < 1 || n > app::most_threads)
    fail(errc::unsupported, "--sweep %s: expected numbers from 1 to %d, found '%s'",
         point.option.c_str(), app::most_threads, point.value.c_str());
  return n;
}

} // namespace tulle::bench
