// SPDX-License-Identifier: Apache-2.0

// Plots of one matrix each: bars of all contestants, and sweeps over an option.
#include "bench/html/plots.hpp"
#include "bench/html/tables.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace tulle::bench::html {
namespace {

constexpr double row = 19;
constexpr double bar_height = 11;
constexpr double top = 22;

/// The longest bar. Whiskers do not count: one of a busy minute would squeeze all bars of the page.
double longest(group const& g, race const& one) {
  double high = 0;
  for (entry const& e : one.ranked)
    high = positive(g.speed(*e.r)) ? std::max(high, g.speed(*e.r)) : high;
  return high;
}

std::string caption(race const& one) {
  record const& p = *one.problem;
  return fmt::format("<b>{}</b> <span class=soft>{} × {}, {} entries, {} per row</span>",
                     escape(one.name), count(p.rows), count(p.cols), count(p.nnz),
                     fixed(row_length(p), 1));
}

std::string one_race(group const& g, race const& one, double high) {
  double const width = 520;
  auto const lines = one.ranked.size() + one.wrong.size() + one.untimed.size();
  box const b{124, top, width - 124 - 112, row * static_cast<double>(one.ranked.size())};
  drawing d(width, top + row * static_cast<double>(lines) + 24,
            fmt::format("Speed of {} contestants on {}", one.ranked.size(), one.name));
  scale const x = linear_scale({1.05 * high}, b.left, b.right());

  for (tick const& t : x.ticks(5)) {
    d.line({x(t.at), b.top}, {x(t.at), b.bottom()}, "grid");
    d.text({x(t.at), b.bottom() + 13}, "middle soft small", t.label);
  }
  d.text({width - 62, 13}, "end soft small", g.has_ratio ? "of bound" : "GFlop/s");
  d.text({width - 2, 13}, "end soft small", "ms");

  entry const* const best_own = one.best(true);
  entry const* const best_peer = one.best(false);
  double y = b.top + row / 2;
  for (entry const& e : one.ranked) {
    record const& r = *e.r;
    bool const own = r.peer.empty();
    bool const best = &e == best_own || &e == best_peer;
    double const length = positive(g.speed(r)) ? x(g.speed(r)) - b.left : 0;
    d.rect({b.left, y - bar_height / 2, length, bar_height},
           fmt::format("bar {}{}", own ? "own" : "peer", best ? " best" : ""),
           fmt::format("data-bar=\"{}|{}\"", escape(one.name), escape(e.name)),
           fmt::format("{}: {} ms, {} GFlop/s. {}", e.name, fixed(r.seconds * 1e3, 3),
                       fixed(r.gflops, 2), r.path));
    if (g.has_ratio && has_interval(r))
      d.whisker_across(y, x(r.ratio_low), x(r.ratio_high), b.right());
    std::string const weight = best ? " bold" : "";
    d.text({b.left - 7, y + 4}, "end" + weight, shorten(e.name, 19));
    d.text({width - 62, y + 4}, "end" + weight, fixed(g.speed(r), 2));
    d.text({width - 2, y + 4}, "end soft", fixed(r.seconds * 1e3, 3));
    y += row;
  }
  if (g.has_ratio) {
    d.line({x(1), b.top - 5}, {x(1), b.bottom()}, "bound");
    d.text({std::min(x(1), b.right() - 32), 13}, "middle small", "CSR bound");
  }
  d.line({b.left, b.top}, {b.left, b.bottom()}, "axis");
  y += one.ranked.empty() ? 0 : 16; // below the tick labels
  for (auto const* list : {&one.wrong, &one.untimed})
    for (entry const& e : *list) {
      d.text({b.left - 7, y + 4}, "end", shorten(e.name, 19));
      d.text({b.left + 6, y + 4}, list == &one.wrong ? "start bad" : "start soft",
             list == &one.wrong ? "✕ wrong result" : "not timed");
      y += row;
    }
  return figure(caption(one), d);
}

std::string one_sweep(sweep const& s) {
  double const width = 340;
  box const b{54, 10, width - 54 - 14, 150};
  drawing d(width, b.bottom() + 40,
            fmt::format("{} of {} on {} against speed", s.option, s.what, s.matrix));
  std::vector<double> at;
  std::vector<double> speeds;
  for (std::size_t i = 0; i < s.points.size(); ++i) {
    record const& r = *s.points[i];
    at.push_back(s.numeric ? std::strtod(r.option_value.c_str(), nullptr)
                           : static_cast<double>(i) + 0.5);
    if (timed(r))
      speeds.push_back(1.05 * s.speed(r));
  }
  double const low = *std::min_element(at.begin(), at.end());
  double const high = *std::max_element(at.begin(), at.end());
  scale x{0, static_cast<double>(at.size()), b.left, b.right()};
  if (s.numeric && low > 0 && high >= 8 * low) // powers of two, most often
    x = log_scale({low, high}, b.left, b.right());
  else if (s.numeric) {
    double const room = high > low ? 0.06 * (high - low) : 1;
    x = {low - room, high + room, b.left, b.right()};
  }
  std::vector<tick> ticks;
  if (!s.numeric || at.size() <= 8)
    for (std::size_t i = 0; i < at.size(); ++i)
      ticks.push_back({at[i], shorten(s.points[i]->option_value, 10)});
  if (s.has_ratio)
    speeds.push_back(1);
  scale const y = linear_scale(speeds, b.bottom(), b.top);
  axes(d, b, x, y, s.option, s.has_ratio ? "of CSR bound" : "GFlop/s", ticks);
  if (s.has_ratio)
    d.line({b.left, y(1)}, {b.right(), y(1)}, "bound");

  look const how{"#0072B2", "", shape::circle, true, 1.6};
  look const bad{"#B3261E", "", shape::cross, false, 1.6};
  std::vector<point> curve;
  for (std::size_t i = 0; i < at.size(); ++i)
    if (timed(*s.points[i]))
      curve.push_back({x(at[i]), y(s.speed(*s.points[i]))});
  if (s.numeric) // between words there is nothing for a line to show
    d.curve(curve, how);
  for (std::size_t i = 0; i < at.size(); ++i) {
    record const& r = *s.points[i];
    if (!timed(r)) {
      d.mark({x(at[i]), b.bottom() - 7}, bad, r.verified ? "not timed" : "wrong result");
      continue;
    }
    d.mark({x(at[i]), y(s.speed(r))}, how,
           fmt::format("{} = {}: {} ms", s.option, r.option_value, fixed(r.seconds * 1e3, 3)));
    if (s.has_ratio && has_interval(r))
      d.whisker_up(x(at[i]), y(r.ratio_low), y(r.ratio_high), b.top);
  }
  auto const failed =
      std::count_if(s.points.begin(), s.points.end(), [](record const* r) { return !r->verified; });
  auto words =
      fmt::format("<b>{}</b> <span class=soft>{}</span>", escape(s.matrix), escape(s.what));
  if (failed)
    words += fmt::format(" <span class=bad>✕ {} wrong</span>", failed);
  return figure(words, d);
}

} // namespace

std::string figure(std::string const& words, drawing const& d) {
  return "<figure><figcaption>" + words + "</figcaption>\n" + d.str() + "</figure>\n";
}

std::string bars(group const& g) {
  // One scale for all where it is the ratio, so that the bound is at one place down the page.
  double high = 1;
  for (race const& one : g.races)
    high = std::max(high, longest(g, one));
  std::string out = "<div class=\"grid two\">\n";
  for (race const& one : g.races)
    out += one_race(g, one, g.has_ratio ? high : longest(g, one));
  return out + "</div>\n";
}

std::string sweep_plots(std::vector<sweep> const& sweeps) {
  std::string out = "<div class=\"grid three\">\n";
  for (sweep const& s : sweeps)
    out += one_sweep(s);
  return out + "</div>\n";
}

} // namespace tulle::bench::html
