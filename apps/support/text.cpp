// SPDX-License-Identifier: Apache-2.0
#include "apps/support/text.hpp"

#include <fmt/format.h>

namespace tulle::app {

std::string count_text(std::uint64_t n) {
  std::string const digits = std::to_string(n);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0)
      text += ',';
    text += digits[i];
  }
  return text;
}

std::string bytes_text(std::uint64_t n) {
  constexpr char const* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double size = static_cast<double>(n);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit)
    size /= 1024;
  return unit == 0 ? fmt::format("{} B", n)
                   : fmt::format("{:.{}f} {}", size,
                                 size < 10    ? 2
                                 : size < 100 ? 1
                                              : 0,
                                 units[unit]);
}

std::string percent_text(double fraction) {
  double const percent = 100 * fraction;
  if (fraction == 0 || fraction == 1)
    return fmt::format("{:.0f} %", percent);
  if (percent > 99.9)
    return "> 99.9 %";
  return percent < 1 ? fmt::format("{:.2g} %", percent) : fmt::format("{:.1f} %", percent);
}

std::string plural(std::uint64_t n, char const* noun) {
  return fmt::format("{} {}{}", count_text(n), noun, n == 1 ? "" : "s");
}

} // namespace tulle::app
