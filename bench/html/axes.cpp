// SPDX-License-Identifier: Apache-2.0

// Scales, their ticks, and the grid that they make.
#include "bench/html/svg.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tulle::bench::html {
namespace {

/// Beyond these nothing is a measurement, and ticks would lose their digits.
bool drawable(double v) {
  return v >= 1e-15 && v <= 1e15;
}

std::string tick_label(double v) {
  if (v >= 1e9 || (v > 0 && v < 1e-4))
    return fmt::format("{:.0e}", v);
  if (v >= 1e6)
    return fmt::format("{:g}M", v * 1e-6);
  if (v >= 1e4)
    return fmt::format("{:g}k", v * 1e-3);
  return fmt::format("{:g}", std::abs(v) < 1e-12 ? 0.0 : v);
}

std::vector<tick> linear_ticks(scale const& s, int about) {
  double const rough = (s.to - s.from) / about;
  double const power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double const m : {5.0, 2.0, 1.0})
    if (m * power >= rough * 0.99)
      step = m * power;
  std::vector<tick> out;
  for (double k = std::ceil(s.from / step - 1e-9); k * step <= s.to + 1e-9 * step; ++k)
    out.push_back({k * step, tick_label(k * step)});
  return out;
}

std::vector<tick> log_ticks(scale const& s, int about) {
  // The finest of these that gives no more than asked for; decades alone may still be too many.
  std::vector<std::vector<double>> const kinds = {
      {1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9},
      {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8},
      {1, 1.5, 2, 3, 5, 7},
      {1, 2, 5},
      {1, 3},
      {1}};
  double const first = std::floor(std::log10(s.from));
  double const last = std::ceil(std::log10(s.to));
  std::vector<tick> out;
  for (auto const& kind : kinds) {
    out.clear();
    for (double decade = first; decade <= last; ++decade)
      for (double const m : kind)
        if (double const v = m * std::pow(10, decade);
            v >= s.from * (1 - 1e-9) && v <= s.to * (1 + 1e-9))
          out.push_back({v, tick_label(v)});
    if (out.size() <= static_cast<std::size_t>(about) + 2)
      break;
  }
  auto const stride = 1 + out.size() / (static_cast<std::size_t>(about) + 3);
  std::vector<tick> thinned;
  for (std::size_t i = 0; i < out.size(); i += stride)
    thinned.push_back(out[i]);
  return thinned;
}

} // namespace

double scale::operator()(double v) const {
  double t = 0;
  if (log)
    t = v > 0 ? std::log(v / from) / std::log(to / from) : -1;
  else
    t = (v - from) / (to - from);
  if (std::isnan(t))
    t = -1;
  return start + std::clamp(t, -1.0, 2.0) * (end - start);
}

std::vector<tick> scale::ticks(int about) const {
  return log ? log_ticks(*this, about) : linear_ticks(*this, about);
}

scale linear_scale(std::vector<double> const& values, double start, double end) {
  double high = 0;
  for (double const v : values)
    if (drawable(v))
      high = std::max(high, v);
  // From 0, as lengths are compared; the room above keeps the highest whisker off the frame.
  return {0, high > 0 ? 1.05 * high : 1, start, end};
}

scale log_scale(std::vector<double> const& values, double start, double end) {
  double low = 0;
  double high = 0;
  for (double const v : values)
    if (drawable(v)) {
      low = low > 0 ? std::min(low, v) : v;
      high = std::max(high, v);
    }
  if (!(low > 0))
    return {1, 10, start, end, true};
  // At least a factor of two, so that one point alone has an axis.
  double const room = std::max({1.08, std::pow(high / low, 0.06), std::sqrt(2 * low / high)});
  return {low / room, high * room, start, end, true};
}

void axes(drawing& d, box b, scale const& x, scale const& y, std::string_view x_label,
          std::string_view y_label, std::vector<tick> x_ticks, std::vector<tick> y_ticks) {
  if (x_ticks.empty())
    x_ticks = x.ticks(b.width < 400 ? 5 : 9);
  if (y_ticks.empty())
    y_ticks = y.ticks(b.height < 200 ? 4 : 7);
  for (tick const& t : x_ticks) {
    d.line({x(t.at), b.top}, {x(t.at), b.bottom()}, "grid");
    d.text({x(t.at), b.bottom() + 15}, "middle soft", t.label);
  }
  for (tick const& t : y_ticks) {
    d.line({b.left, y(t.at)}, {b.right(), y(t.at)}, "grid");
    d.text({b.left - 7, y(t.at) + 4}, "end soft", t.label);
  }
  d.line({b.left, b.bottom()}, {b.right(), b.bottom()}, "axis");
  d.line({b.left, b.top}, {b.left, b.bottom()}, "axis");
  if (!x_label.empty())
    d.text({b.left + b.width / 2, b.bottom() + 33}, "middle", x_label);
  if (!y_label.empty())
    d.text_upwards({b.left - (b.left > 60 ? 48 : 40), b.top + b.height / 2}, "middle", y_label);
}

} // namespace tulle::bench::html
