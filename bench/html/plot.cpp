// SPDX-License-Identifier: Apache-2.0
#include "bench/html/plot.hpp"

#include "tulle/core/error.hpp"

#include "bench/html/model.hpp"
#include "bench/html/svg.hpp"
#include "bench/summary.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tulle::bench {
namespace {

using namespace html;

constexpr double left = 58;
constexpr double right = 18;
constexpr double plot_height = 250;
constexpr double names_height = 128; // of 18 characters, upright
constexpr double panel_height = 62 + plot_height + names_height;
constexpr std::size_t longest_name = 18;

struct palette {
  char const *ink, *soft, *rule, *own, *behind, *stem, *page;
};
// Blue and orange of Okabe and Ito's, as the report has them; lighter on a dark page.
constexpr palette light = {"#1c1f23", "#5d656e", "#e2e5e9", "#0072b2",
                           "#d55e00", "#b9cddb", "#ffffff"};
constexpr palette dark = {"#e6edf3", "#9aa4af", "#30363d", "#58a6ff",
                          "#f0883e", "#35506e", "#0d1117"};

std::string style_of(palette const& p) {
  return fmt::format(
      "text {{ fill: {0}; font: 12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica "
      "Neue', "
      "'Liberation Sans', 'DejaVu Sans', Arial, sans-serif; }}\n"
      ".start {{ text-anchor: start; }} .middle {{ text-anchor: middle; }} .end {{ text-anchor: "
      "end; "
      "}}\n"
      ".soft {{ fill: {1}; }} .small {{ font-size: 10.5px; }} .bold {{ font-weight: 600; }}\n"
      ".title {{ font-size: 18px; font-weight: 600; }}\n"
      ".grid {{ stroke: {2}; stroke-width: 1; }} .one {{ stroke: {0}; stroke-width: 1.4; }}\n",
      p.ink, p.soft, p.rule);
}

/// What the second mark of a matrix shows: what optimize() picked where that was measured, else the
/// best format.
double second(standing const& s, bool has_optimized) {
  return has_optimized ? s.optimized : s.best;
}

std::string in_words(standings const& g) {
  std::string const what = g.op == "spmv"     ? "Sparse matrix times vector"
                           : g.op == "spmm"   ? "Sparse matrix times a few vectors"
                           : g.op == "spgemm" ? "Sparse matrix times sparse matrix"
                                              : g.op;
  std::string const value = g.value == "f64"   ? ", double precision"
                            : g.value == "f32" ? ", single precision"
                                               : ", " + g.value;
  return what + value;
}

std::string peer_title(std::string const& name) {
  static constexpr std::pair<char const*, char const*> known[] = {
      {"mkl", "oneMKL"},          {"eigen", "Eigen"},       {"graphblas", "GraphBLAS"},
      {"openmp", "a plain loop"}, {"scipy", "SciPy"},       {"petsc", "PETSc"},
      {"rsb", "librsb"},          {"cusparse", "cuSPARSE"}, {"cxsparse", "CXSparse"}};
  for (auto const& [short_name, title] : known)
    if (name == short_name)
      return title;
  return name;
}

std::string listed(std::vector<std::string> const& peers) {
  std::vector<std::string> titles;
  for (auto const& p : peers)
    titles.push_back(peer_title(p));
  // The loop last, whatever else there is.
  std::stable_partition(titles.begin(), titles.end(),
                        [](std::string const& t) { return !t.starts_with("a "); });
  if (titles.size() == 1)
    return titles.front();
  std::string const last = titles.back();
  titles.pop_back();
  return fmt::format("{} and {}", fmt::join(titles, ", "), last);
}

std::string times_text(double v) {
  return fmt::format("{:g}×", v);
}

class panel {
public:
  panel(drawing& d, standings const& g, palette const& p, box b)
      : d_(d), g_(g), p_(p), b_(b),
        has_optimized_(std::any_of(g.lines.begin(), g.lines.end(),
                                   [](standing const& s) { return s.optimized > 0; })) {}

  void draw() {
    std::vector<double> values = {1};
    for (standing const& s : g_.lines)
      for (double const v : {s.csr, second(s, has_optimized_)})
        values.push_back(v);
    scale const y = log_scale(values, b_.bottom(), b_.top);
    for (tick const& t : y.ticks(6)) {
      d_.line({b_.left, y(t.at)}, {b_.right(), y(t.at)}, "grid");
      d_.text({b_.left - 8, y(t.at) + 4}, "end soft", times_text(t.at));
    }
    d_.text_upwards({14, b_.top + b_.height / 2}, "middle soft", "speed, best peer = 1");
    double const step = b_.width / static_cast<double>(g_.lines.size());
    double x = b_.left + step / 2;
    d_.line({b_.left, y(1)}, {b_.right(), y(1)}, "one");
    for (standing const& s : g_.lines) {
      matrix(s, x, y);
      x += step;
    }
    legend();
  }

private:
  look given(double ratio) const {
    return {ratio < 1 ? p_.behind : p_.own, "", shape::circle, false, 1.3, p_.page};
  }
  look picked(double ratio) const {
    return {ratio < 1 ? p_.behind : p_.own, "", shape::circle, true, 1.3};
  }

  void matrix(standing const& s, double x, scale const& y) {
    double const best = second(s, has_optimized_);
    std::string const name = shorten(s.matrix, longest_name);
    if (s.csr > 0 && best > 0)
      d_.line({x, y(s.csr)}, {x, y(best)}, look{p_.stem, "", shape::none, true, 2});
    if (best > 0)
      d_.mark({x, y(best)}, picked(best),
              fmt::format("{}: {} {:.2f} times as fast as {}", s.matrix,
                          has_optimized_ ? "optimize" : s.best_label, best, peer_title(s.peer)));
    if (s.csr > 0)
      d_.mark({x, y(s.csr)}, given(s.csr),
              fmt::format("{}: csr as given {:.2f} times as fast as {}", s.matrix, s.csr,
                          peer_title(s.peer)));
    d_.text_upwards({x + 3.5, b_.bottom() + 10}, "end small soft", name);
  }

  void legend() {
    double x = b_.left;
    double const y = b_.top - 14;
    auto const entry = [&](double standing::*kind, char const* words, bool filled) {
      std::vector<double> ratios;
      std::ptrdiff_t behind = 0;
      for (standing const& s : g_.lines)
        if (s.*kind > 0) {
          ratios.push_back(s.*kind);
          behind += s.*kind < 1;
        }
      if (ratios.empty())
        return;
      d_.mark({x + 5, y - 4}, filled ? picked(2) : given(2));
      std::string const text = fmt::format("{}: {:.2f}× (geometric mean), {} of {} behind", words,
                                           geometric_mean(ratios), behind, ratios.size());
      d_.text({x + 15, y}, "start", text);
      x += 34 + 6.2 * static_cast<double>(text.size());
    };
    entry(&standing::csr, g_.op == "spgemm" ? "csr" : "CSR as given", false);
    if (has_optimized_)
      entry(&standing::optimized, "optimize()", true);
    else
      entry(&standing::best, g_.op == "spgemm" ? "best method" : "best format", true);
    d_.mark({x + 5, y - 4}, picked(.5));
    d_.text({x + 15, y}, "start", "behind the best peer");
  }

  drawing& d_;
  standings const& g_;
  palette const& p_;
  box b_;
  bool has_optimized_;
};

} // namespace

std::string svg_plot(results const& r, std::string const& title, theme colours) {
  std::vector<standings> const groups = standings_of(r);
  if (groups.empty())
    fail(errc::unsupported, "bench report: no matrix was computed by both tulle and a peer");
  palette const& p = colours == theme::dark ? dark : light;
  std::size_t most = 0;
  for (standings const& g : groups)
    most = std::max(most, g.lines.size());
  double const width = left + right + std::clamp(18.0 * static_cast<double>(most), 640.0, 1024.0);
  double const head = 58;
  drawing d(width, head + panel_height * static_cast<double>(groups.size()), title);
  d.text({left, 26}, "start title", title);
  std::string const machine = r.run.device.empty() ? r.run.host_cpu : r.run.device;
  d.text({left, 46}, "start soft",
         fmt::format("{}, {} thread{}{}", machine, r.run.threads, r.run.threads == 1 ? "" : "s",
                     r.run.date.empty() ? "" : ", " + r.run.date.substr(0, 10)));
  double top = head;
  for (standings const& g : groups) {
    d.text({left, top + 14}, "start bold",
           fmt::format("{}: {} matrices, against the fastest of {}", in_words(g), g.lines.size(),
                       listed(g.peers)));
    box const b{left, top + 52, width - left - right, plot_height};
    panel(d, g, p, b).draw();
    top += panel_height;
  }
  return d.file(style_of(p));
}

} // namespace tulle::bench
