// SPDX-License-Identifier: Apache-2.0

// Plots with a point for each record, or for each matrix.
#include "bench/html/plots.hpp"
#include "bench/html/tables.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tulle::bench::html {
namespace {

constexpr double width = 1060;
constexpr double legend_width = 246;

struct spot {
  double x, y;
  contender const* who;
  std::string tip;
};

contender const& contender_of(group const& g, std::string const& name) {
  return *std::find_if(g.contenders.begin(), g.contenders.end(),
                       [&](contender const& c) { return c.name == name; });
}

/// A point for each ranked record whose x and GFlop/s can be drawn.
template <class X>
std::vector<spot> spots(group const& g, X x_of) {
  std::vector<spot> out;
  for (race const& one : g.races)
    for (entry const& e : one.ranked)
      if (double const x = x_of(*e.r); positive(x) && positive(e.r->gflops))
        out.push_back(
            {x, e.r->gflops, &contender_of(g, e.name),
             fmt::format("{} on {}: {} GFlop/s", e.name, one.name, fixed(e.r->gflops, 2))});
  return out;
}

double height_for(group const& g) {
  return std::max(390.0, legend_step * static_cast<double>(g.contenders.size()) + 70);
}

void draw(drawing& d, box b, group const& g, std::vector<spot> const& points, scale const& x,
          scale const& y) {
  // Worst first, so that the best of a crowd is on top.
  for (auto c = g.contenders.rbegin(); c != g.contenders.rend(); ++c)
    for (spot const& s : points)
      if (s.who == &*c)
        d.mark({x(s.x), y(s.y)}, c->how, s.tip);
  std::vector<std::pair<std::string, look>> names;
  for (contender const& c : g.contenders) {
    look only_mark = c.how;
    only_mark.width = 0;
    names.emplace_back(c.name, only_mark);
  }
  legend(d, {b.right() + 22, b.top + 10}, names);
}

std::string tulle_over_peer(group const& g) {
  std::vector<std::pair<point, std::string>> at; // in data
  std::vector<double> xs;
  std::vector<double> ys{1};
  for (race const& one : g.races) {
    entry const* const own = one.best(true);
    entry const* const peer = one.best(false);
    double const length = row_length(*one.problem);
    if (!own || !peer || !positive(length))
      continue;
    double const factor = one.behind(*peer->r) / one.behind(*own->r);
    if (!positive(factor))
      continue;
    at.push_back({{length, factor}, one.name});
    xs.push_back(length);
    ys.push_back(factor);
  }
  if (at.empty())
    return {};
  box const b{64, 14, width - 64 - 16, 270};
  drawing d(width, b.bottom() + 44, "Speed of tulle's best over the best peer by row length");
  scale const x = log_scale(xs, b.left, b.right());
  scale const y = log_scale(ys, b.bottom(), b.top);
  axes(d, b, x, y, "entries per row, mean", "tulle over best peer");
  d.line({b.left, y(1)}, {b.right(), y(1)}, "bound");
  std::vector<std::pair<point, std::string>> names;
  for (auto const& [p, name] : at) {
    bool const lost = p.y < 1;
    look const how{lost ? "#D55E00" : "#0072B2", "", lost ? shape::wedge : shape::circle, true, 1};
    point const here{x(p.x), y(p.y)};
    d.mark(here, how, fmt::format("{}: {}", name, fixed(p.y, 2)));
    names.emplace_back(here, name);
  }
  if (names.size() <= 60) // more names than that are a fog
    place_names(d, b, names);
  return figure(
      "<b>tulle’s best over the best peer.</b> <span class=soft>● above 1: tulle is faster. "
      "▼ below: the peer is.</span>",
      d);
}

/// Bandwidths of the bound, sorted into classes that lie within a quarter of each other: memory,
/// and each level of cache that some matrices fit in. The median of each, and how many races it
/// has.
std::vector<std::pair<double, int>> bound_classes(group const& g) {
  std::vector<double> bounds;
  for (race const& one : g.races)
    for (entry const& e : one.ranked)
      if (positive(e.r->bound_gbytes_per_s)) {
        bounds.push_back(e.r->bound_gbytes_per_s);
        break;
      }
  std::sort(bounds.begin(), bounds.end());
  std::vector<std::vector<double>> classes;
  for (double const v : bounds)
    if (classes.empty() || v > 1.25 * classes.back().back())
      classes.push_back({v});
    else
      classes.back().push_back(v);
  std::vector<std::pair<double, int>> out;
  for (auto const& c : classes)
    out.emplace_back(median(c), static_cast<int>(c.size()));
  if (out.size() > 5) // no classes but a spread: its ends and middle say as much
    out = {out.front(), {median(bounds), static_cast<int>(bounds.size())}, out.back()};
  return out;
}

std::pair<std::vector<double>, std::vector<double>> coordinates(std::vector<spot> const& points) {
  std::pair<std::vector<double>, std::vector<double>> all;
  for (spot const& s : points) {
    all.first.push_back(s.x);
    all.second.push_back(s.y);
  }
  return all;
}

} // namespace

std::string speed_by_row_length(group const& g) {
  auto const points = spots(g, [](record const& r) { return row_length(r); });
  if (points.empty())
    return {};
  auto [xs, ys] = coordinates(points);
  box const b{64, 14, width - 64 - legend_width, height_for(g) - 64};
  drawing d(width, height_for(g), "GFlop/s of each contestant by mean row length");
  scale const x = log_scale(xs, b.left, b.right());
  scale const y = log_scale(ys, b.bottom(), b.top);
  axes(d, b, x, y, "entries per row, mean", "GFlop/s");
  draw(d, b, g, points, x, y);
  return figure("<b>All contestants.</b> <span class=soft>Filled: tulle. Hollow: peers.</span>",
                d) +
         tulle_over_peer(g);
}

std::string roofline(group const& g) {
  auto const points = spots(g, [](record const& r) { return flops_per_byte(r); });
  auto const classes = bound_classes(g);
  if (points.empty() || classes.empty())
    return {};
  auto [xs, ys] = coordinates(points);
  box const b{64, 14, width - 64 - legend_width, height_for(g) - 64};
  scale const x = log_scale(xs, b.left, b.right());
  auto const most =
      std::max_element(classes.begin(), classes.end(),
                       [](auto const& a, auto const& c) { return a.second < c.second; });
  // Each slope is in sight at its left end, that of most matrices at its right end too.
  auto const [lowest, highest] = std::minmax_element(xs.begin(), xs.end());
  for (auto const& [bandwidth, races] : classes)
    ys.push_back(bandwidth * *lowest);
  ys.push_back(most->first * *highest);
  drawing d(width, height_for(g), "Roofline: GFlop/s by flops per byte");
  scale const y = log_scale(ys, b.bottom(), b.top);
  axes(d, b, x, y, "flops per byte moved (matrix as stored, and vectors)", "GFlop/s");
  for (auto const& [bandwidth, races] : classes) {
    double const begin = std::max(x.from, y.from / bandwidth);
    double const end = std::min(x.to, y.to / bandwidth);
    if (!(begin < end))
      continue;
    d.line({x(begin), y(bandwidth * begin)}, {x(end), y(bandwidth * end)},
           bandwidth == most->first ? "bound" : "bound faint");
    // Its name is at its upper end: above it at the right edge, beside it where it leaves at the
    // top.
    bool const leaves = end < x.to;
    d.text(leaves ? point{x(end) + 8, b.top + 10} : point{b.right() - 6, y(bandwidth * end) - 7},
           leaves ? "start small" : "end small", fmt::format("{} GB/s", fixed(bandwidth, 0)));
  }
  draw(d, b, g, points, x, y);
  return figure("", d);
}

} // namespace tulle::bench::html
