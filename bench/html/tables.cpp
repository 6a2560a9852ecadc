// SPDX-License-Identifier: Apache-2.0
#include "bench/html/tables.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tulle::bench::html {
namespace {

std::string table(std::string_view css, std::string const& head, std::string const& body) {
  return fmt::format("<div class=wide><table class=\"{}\">\n<thead><tr>{}</tr></thead>\n"
                     "<tbody>\n{}</tbody>\n</table></div>\n",
                     css, head, body);
}

std::string ms(double seconds) {
  return fixed(seconds * 1e3, 3);
}

std::vector<race const*> lost(group const& g) {
  std::vector<race const*> out;
  for (race const& one : g.races)
    if (one.lost())
      out.push_back(&one);
  return out;
}

/// Of a lost race: infinite where tulle has no right result.
double factor(race const& one) {
  entry const* const own = one.best(true);
  return own ? one.behind(*own->r) : INFINITY;
}

bool beyond_noise(race const& one) {
  entry const* const own = one.best(true);
  return !own || compare(*one.ranked.front().r, *own->r) == verdict::beyond_noise;
}

bool contested(race const& one) {
  return one.took_part(true) && one.best(false);
}

/// A speedup; faster than csr stands out by weight, not by colour alone.
std::string speedup(double v) {
  if (!positive(v))
    return "–";
  return v >= 1.005 ? fmt::format("<b class=up>{}</b>", fixed(v, 2)) : fixed(v, 2);
}

bool is_plain_csr(group const& g, contender const& c) {
  return std::any_of(g.races.begin(), g.races.end(), [&](race const& one) {
    entry const* const csr = one.plain_csr();
    return csr && csr->name == c.name;
  });
}

/// "210 (12 of 14)": on how many races it ever pays, and after how many calls there.
std::string when_it_pays(std::vector<double> const& pays) {
  auto const ever =
      std::count_if(pays.begin(), pays.end(), [](double v) { return std::isfinite(v); });
  if (ever == 0)
    return "never";
  return fmt::format("{} ({} of {})", fixed(median(pays), 0), ever, pays.size());
}

/// Races down, contestants across, no more of them than a printed page is wide.
std::string by_race(group const& g, std::vector<contender const*> const& who) {
  constexpr std::size_t most = 13;
  std::size_t const tables = (who.size() + most - 1) / most;
  std::size_t const across = tables ? (who.size() + tables - 1) / tables : 1;
  std::string out;
  for (std::size_t first = 0; first < who.size(); first += across) {
    auto const last = std::min(first + across, who.size());
    std::string head = "<th>matrix";
    for (std::size_t c = first; c < last; ++c)
      head += "<th class=n>" + escape(who[c]->name);
    std::string body;
    for (race const& one : g.races) {
      entry const* const csr = one.plain_csr();
      if (!csr)
        continue;
      body += "<tr><td>" + escape(one.name);
      for (std::size_t c = first; c < last; ++c) {
        entry const* const e = one.find(who[c]->name);
        body += e ? fmt::format("<td class=n>{}<br>{}", speedup(speedup_after(50, *e->r, *csr->r)),
                                speedup(speedup_after(500, *e->r, *csr->r)))
                  : std::string("<td class=n>–");
      }
      body += "\n";
    }
    out += table("dense", head, body);
  }
  return out;
}

} // namespace

std::string fixed(double v, int digits) {
  if (!std::isfinite(v))
    return "–";
  // A number of 300 digits is no measurement but would break the page's layout.
  return std::abs(v) < 1e9 ? fmt::format("{:.{}f}", v, digits) : fmt::format("{:.2e}", v);
}

std::string count(std::size_t n) {
  double const v = static_cast<double>(n);
  if (n >= 1'000'000'000)
    return fmt::format("{:.2f}G", v * 1e-9);
  if (n >= 1'000'000)
    return fmt::format("{:.2f}M", v * 1e-6);
  return n >= 10'000 ? fmt::format("{:.1f}K", v * 1e-3) : fmt::format("{}", n);
}

std::string summary(model const& m) {
  std::string body;
  for (group const& g : m.groups) {
    auto const behind = lost(g);
    auto const clear =
        std::count_if(behind.begin(), behind.end(), [](auto one) { return beyond_noise(*one); });
    auto const fought = std::count_if(g.races.begin(), g.races.end(), contested);
    std::size_t wrong = 0;
    std::vector<double> over;
    std::vector<double> ratios;
    for (race const& one : g.races) {
      wrong += one.wrong.size();
      entry const* const own = one.best(true);
      entry const* const peer = one.best(false);
      if (own)
        ratios.push_back(own->r->csr_bound_ratio);
      if (own && peer)
        over.push_back(one.behind(*peer->r) / one.behind(*own->r));
    }
    double const mean = geometric_mean(over);
    double const of_bound = median(ratios);
    body += fmt::format(
        "<tr><td><a href=\"#{}\">{}</a><td class=n>{}<td class=n><b>{}</b> of {}<td class=n>{}"
        "<td class=n>{}<td class=n>{}<td class=n>{}\n",
        g.id, escape(g.title), g.races.size(), fought - static_cast<std::ptrdiff_t>(behind.size()),
        fought,
        behind.empty() ? std::string("none")
                       : fmt::format("{}, {} beyond noise", behind.size(), clear),
        mean > 0 ? fixed(mean, 2) : "–", of_bound > 0 ? fixed(of_bound, 2) : "–",
        wrong ? fmt::format("<b class=bad>✕ {}</b>", wrong) : "none");
  }
  return table("",
               "<th>measured<th class=n>cases<th class=n>tulle fastest<th class=n>losses"
               "<th class=n>tulle’s best over best peer, mean<th class=n>of CSR bound, median"
               "<th class=n>wrong results",
               body);
}

std::string losses(group const& g) {
  auto behind = lost(g);
  auto const fought = std::count_if(g.races.begin(), g.races.end(), contested);
  if (fought == 0)
    return "<p>No matrix was measured with both tulle and a peer.</p>\n";
  if (behind.empty())
    return fmt::format(
        "<p>None: wherever a peer took part ({} of {} cases), a format of tulle’s is "
        "the fastest.</p>\n",
        fought, g.races.size());
  std::stable_sort(behind.begin(), behind.end(),
                   [](race const* a, race const* b) { return factor(*a) > factor(*b); });
  std::string body;
  for (race const* one : behind) {
    entry const& winner = one->ranked.front();
    entry const* const own = one->best(true);
    body += fmt::format("<tr><td>{}<td>{}<td class=n>{}<td>{}<td class=n>{}<td class=n><b>{}</b>"
                        "<td>{}\n",
                        escape(one->name), own ? escape(own->name) : "no right result",
                        own ? ms(own->r->seconds) : "–", escape(winner.name), ms(winner.r->seconds),
                        fixed(factor(*one), 2),
                        beyond_noise(*one) ? "<b>yes</b>" : "no, intervals overlap");
  }
  return table("",
               "<th>matrix<th>tulle’s best<th class=n>ms<th>faster<th class=n>ms"
               "<th class=n>factor<th>beyond noise",
               body);
}

std::string wrong_results(group const& g) {
  std::string body;
  for (race const& one : g.races)
    for (entry const& e : one.wrong)
      body += fmt::format("<tr><td>{}<td class=bad>✕ {}<td>{}\n", escape(one.name), escape(e.name),
                          escape(e.r->path));
  return body.empty() ? body : table("", "<th>matrix<th>contestant<th>path", body);
}

std::string break_even_tables(group const& g) {
  std::string body;
  std::vector<contender const*> who;
  for (contender const& c : g.contenders) {
    weighed const w = weigh(g, c, &race::plain_csr);
    if (w.at_50.empty())
      continue;
    if (!is_plain_csr(g, c)) // all 1 there
      who.push_back(&c);
    body += fmt::format("<tr><td>{}<td class=n>{}", escape(c.name), fixed(median(w.conversion), 1));
    for (auto const* list : {&w.at_50, &w.at_500})
      body += fmt::format("<td class=n>{}<td class=n>{}", speedup(geometric_mean(*list)),
                          speedup(*std::max_element(list->begin(), list->end())));
    body += "<td class=n>" +
            (is_plain_csr(g, c) ? std::string("the measure") : when_it_pays(w.pays)) + "\n";
  }
  if (body.empty())
    return {};
  return table("",
               "<th>contestant<th class=n>conversion, calls<th class=n>50 calls, mean"
               "<th class=n>best<th class=n>500 calls, mean<th class=n>best"
               "<th class=n>pays after, calls",
               body) +
         "<h4>By matrix: 50 calls above, 500 below</h4>\n" + by_race(g, who);
}

} // namespace tulle::bench::html
