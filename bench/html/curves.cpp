// SPDX-License-Identifier: Apache-2.0

// Plots of all matrices, one curve a contestant.
#include "bench/html/plots.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tulle::bench::html {
namespace {

constexpr double width = 1060;
look const tulle_best{"#111111", "", shape::none, true, 3};
look const peers_best{"#8a8a8a", "7 4", shape::none, true, 3};

double height_for(std::size_t entries) {
  return std::max(390.0, legend_step * static_cast<double>(entries) + 70);
}

/// A step at each factor, in races of all.
std::vector<point> steps(std::vector<double> factors, std::size_t races, scale const& x,
                         scale const& y) {
  std::sort(factors.begin(), factors.end());
  double reached = 0;
  std::vector<point> out{{x(1), y(0)}};
  for (double const f : factors) {
    if (!(f <= x.to))
      break;
    out.push_back({x(f), y(reached)});
    reached += 1 / static_cast<double>(races);
    out.push_back({x(f), y(reached)});
  }
  out.push_back({x(x.to), y(reached)});
  return out;
}

/// Marks on a curve at a few places, each contestant's at others so that they do not cover each
/// other.
void marks_along(drawing& d, std::vector<point> const& curve, box b, std::size_t which,
                 std::size_t of, contender const& c) {
  constexpr int marks = 5;
  for (int k = 0; k < marks; ++k) {
    double const part = (k + (static_cast<double>(which) + 0.5) / static_cast<double>(of)) / marks;
    double const at = b.left + part * b.width;
    auto const next = std::find_if(curve.begin(), curve.end(), [&](point p) { return p.x > at; });
    if (next == curve.begin() || next == curve.end())
      continue;
    point const from = *(next - 1);
    double const t = (at - from.x) / (next->x - from.x);
    d.mark({at, from.y + t * (next->y - from.y)}, c.how, c.name);
  }
}

std::vector<double> factors_of(group const& g, contender const& c) {
  std::vector<double> out;
  for (race const& one : g.races)
    if (entry const* const e = one.find(c.name))
      out.push_back(one.behind(*e->r));
  return out;
}

std::vector<double> factors_of_best(group const& g, bool own) {
  std::vector<double> out;
  for (race const& one : g.races)
    if (entry const* const e = one.best(own))
      out.push_back(one.behind(*e->r));
  return out;
}

/// Mean over races of the speedup after n calls; 0 where no race has both.
double mean_speedup(group const& g, contender const& c, double calls) {
  std::vector<double> out;
  for (race const& one : g.races) {
    entry const* const csr = one.plain_csr();
    entry const* const e = one.find(c.name);
    if (csr && e)
      out.push_back(speedup_after(calls, *e->r, *csr->r));
  }
  return geometric_mean(out);
}

} // namespace

std::string performance_profile(group const& g) {
  if (g.contenders.empty() || g.races.size() < 2) // of one matrix the bars say it all
    return {};
  std::vector<std::pair<std::string, look>> names;
  bool const both = !factors_of_best(g, true).empty() && !factors_of_best(g, false).empty();
  if (!factors_of_best(g, true).empty())
    names.emplace_back("tulle, best format of each", tulle_best);
  if (both)
    names.emplace_back("peers, best of each", peers_best);
  for (contender const& c : g.contenders)
    names.emplace_back(c.name, c.how);

  box const b{64, 14, width - 64 - 246, height_for(names.size()) - 64};
  drawing d(width, height_for(names.size()),
            "Performance profile: part of the matrices on which each contestant is within a factor "
            "of the fastest");
  scale const x{1, 5, b.left, b.right(), true};
  scale const y{0, 1, b.bottom(), b.top};
  std::vector<tick> percent;
  for (int const p : {0, 20, 40, 60, 80, 100})
    percent.push_back({p / 100.0, fmt::format("{} %", p)});
  axes(d, b, x, y, "within this factor of the fastest", "part of the matrices",
       {{1, "1"}, {1.2, "1.2"}, {1.5, "1.5"}, {2, "2"}, {2.5, "2.5"}, {3, "3"}, {4, "4"}, {5, "5"}},
       percent);
  if (both)
    d.curve(steps(factors_of_best(g, false), g.races.size(), x, y), peers_best);
  for (std::size_t i = g.contenders.size(); i-- > 0;) { // the best last, on top
    auto const curve = steps(factors_of(g, g.contenders[i]), g.races.size(), x, y);
    d.curve(curve, g.contenders[i].how);
    marks_along(d, curve, b, i, g.contenders.size(), g.contenders[i]);
  }
  d.curve(steps(factors_of_best(g, true), g.races.size(), x, y), tulle_best);
  legend(d, {b.right() + 22, b.top + 10}, names);
  return figure("", d);
}

std::string break_even(group const& g) {
  constexpr int samples = 81;
  std::vector<std::pair<std::string, look>> names;
  std::vector<std::vector<double>> curves;
  std::vector<contender const*> who;
  std::vector<double> all{1};
  for (contender const& c : g.contenders) {
    std::vector<double> curve;
    for (int k = 0; k < samples; ++k)
      curve.push_back(mean_speedup(g, c, std::pow(10, 4.0 * k / (samples - 1))));
    if (!positive(curve.back()))
      continue;
    all.insert(all.end(), curve.begin(), curve.end());
    curves.push_back(curve);
    who.push_back(&c);
  }
  if (curves.empty())
    return {};
  // Legend in the order of the right ends, where the eye looks for it.
  std::vector<std::size_t> order(curves.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t c) {
    return curves[a].back() > curves[c].back();
  });
  for (std::size_t const i : order)
    names.emplace_back(who[i]->name, who[i]->how);

  box const b{64, 14, width - 64 - 246, height_for(names.size()) - 64};
  drawing d(width, height_for(names.size()),
            "Speed of n calls with conversion against plain csr without, over n");
  scale const x{1, 1e4, b.left, b.right(), true};
  scale y = log_scale(all, b.bottom(), b.top);
  y.from = std::max(y.from, 0.05); // lower is lost anyway, and the crossing of 1 wants the room
  axes(d, b, x, y, "calls n", "times as fast as tulle csr");
  d.clip(b);
  d.line({b.left, y(1)}, {b.right(), y(1)}, "bound");
  for (std::size_t i = curves.size(); i-- > 0;) {
    std::vector<point> points;
    for (int k = 0; k < samples; ++k)
      points.push_back(
          {b.left + b.width * k / (samples - 1), y(curves[i][static_cast<std::size_t>(k)])});
    d.curve(points, who[i]->how);
    marks_along(d, points, b, i, curves.size(), *who[i]);
  }
  d.end_clip();
  legend(d, {b.right() + 22, b.top + 10}, names);
  return figure("", d);
}

} // namespace tulle::bench::html
