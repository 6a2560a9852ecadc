// SPDX-License-Identifier: Apache-2.0
#include "bench/summary.hpp"

#include "apps/support/text.hpp"
#include "bench/html/model.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace tulle::bench {
namespace {

// Below this many entries the fixed cost of a call shows.
constexpr std::size_t small_matrix = 60'000;

constexpr double standing::*const kinds[] = {&standing::csr, &standing::optimized, &standing::best};
constexpr char const* kind_names[] = {"csr as given", "optimize", "best format"};

standing standing_of(html::race const& one) {
  html::entry const& peer = *one.best(false);
  html::entry const& best = *one.best(true);
  standing s;
  s.matrix = one.name;
  s.nnz = one.problem->nnz;
  s.peer = peer.name;
  s.best = times_faster(*best.r, *peer.r);
  s.best_label = best.r->format == "optimize" && !best.r->why.empty()
                     ? best.r->why.substr(0, best.r->why.find(": "))
                     : best.r->format;
  if (html::entry const* const csr = one.plain_csr())
    s.csr = times_faster(*csr->r, *peer.r);
  if (html::entry const* const picked = one.find("tulle optimize"))
    s.optimized = times_faster(*picked->r, *peer.r);
  return s;
}

/// By which matrices are ordered.
double rank(standing const& s) {
  return s.csr > 0 ? s.csr : s.best;
}

std::string cell(double ratio) {
  return ratio > 0 ? fmt::format("{:.2f}", ratio) : "-";
}

/// The mean of one kind over all matrices, and over the small ones and the others.
std::string mean_line(std::vector<standing> const& lines, std::size_t kind) {
  std::vector<double> all, small, large;
  std::size_t behind = 0;
  double worst = INFINITY;
  for (standing const& s : lines)
    if (double const ratio = s.*kinds[kind]; ratio > 0) {
      all.push_back(ratio);
      (s.nnz < small_matrix ? small : large).push_back(ratio);
      behind += ratio < 1;
      worst = std::min(worst, ratio);
    }
  if (all.empty())
    return "";
  return fmt::format("  {:<14} {:>6.2f} {:>14} {:>14} {:>8.2f} {:>7} of {}\n", kind_names[kind],
                     html::geometric_mean(all), cell(html::geometric_mean(large)),
                     cell(html::geometric_mean(small)), worst, behind, all.size());
}

std::string text_of(standings const& g) {
  std::string out = fmt::format("{}: times as fast as the best peer ({})\n\n  {:<14} {:>6} {:>14} "
                                "{:>14} {:>8} {:>12}\n",
                                g.title, fmt::join(g.peers, ", "), "geometric mean", "all",
                                ">= 60,000 nnz", "< 60,000 nnz", "worst", "behind");
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind)
    out += mean_line(g.lines, kind);
  std::size_t width = 6;
  for (standing const& s : g.lines)
    width = std::max(width, s.matrix.size());
  width = std::min<std::size_t>(width, 40);
  out += fmt::format("\n  {:<{}} {:>10} {:>7} {:>9} {:>7}  {:<24} {}\n", "matrix", width, "entries",
                     "csr", "optimize", "best", "format", "best peer");
  bool lost = true;
  for (standing const& s : g.lines) {
    if (lost && rank(s) >= 1 && &s != &g.lines.front())
      out += "\n"; // losses stand apart
    lost = rank(s) < 1;
    out += fmt::format("  {:<{}} {:>10} {:>7} {:>9} {:>7}  {:<24} {}\n",
                       html::shorten(s.matrix, 40), width, app::count_text(s.nnz), cell(s.csr),
                       cell(s.optimized), cell(s.best), s.best_label, s.peer);
  }
  return out;
}

} // namespace

std::string matrix_name(std::string const& matrix) {
  if (matrix.starts_with("gen:"))
    return matrix;
  std::size_t const ending = std::min(matrix.find(".mtx"), matrix.size());
  if (ending == matrix.size())
    return matrix;
  std::size_t const folder = matrix.find_last_of('/', ending);
  std::size_t const begin = folder == std::string::npos ? 0 : folder + 1;
  std::size_t const rest = matrix.find_first_of(" ,", ending); // " A A^T", ", 8 columns"
  return matrix.substr(begin, ending - begin) +
         (rest == std::string::npos ? "" : matrix.substr(rest));
}

std::vector<standings> standings_of(results const& r) {
  std::vector<standings> all;
  html::model const m = html::arrange(r);
  for (html::group const& g : m.groups) {
    standings one{.title = g.title, .op = g.op, .value = {}, .lines = {}, .peers = {}};
    std::set<std::string> peers;
    for (html::race const& race : g.races) {
      if (!race.best(true) || !race.best(false))
        continue;
      one.value = race.problem->value;
      one.lines.push_back(standing_of(race));
      one.lines.back().matrix = matrix_name(race.name);
      for (html::entry const& e : race.ranked)
        if (!e.r->peer.empty())
          peers.insert(e.r->peer);
    }
    std::stable_sort(one.lines.begin(), one.lines.end(),
                     [](standing const& a, standing const& b) { return rank(a) < rank(b); });
    one.peers.assign(peers.begin(), peers.end());
    if (!one.lines.empty())
      all.push_back(std::move(one));
  }
  return all;
}

std::string summary(results const& r) {
  std::string out;
  for (standings const& g : standings_of(r))
    out += (out.empty() ? "" : "\n") + text_of(g);
  return out;
}

} // namespace tulle::bench
