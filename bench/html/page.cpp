// SPDX-License-Identifier: Apache-2.0
#include "bench/html/page.hpp"

#include "bench/html/plots.hpp"
#include "bench/html/style.hpp"
#include "bench/html/tables.hpp"

#include <fmt/format.h>
#include <set>

namespace tulle::bench {
namespace {

using namespace html;

std::string kib(std::size_t bytes) {
  return bytes >= 1 << 20 ? fmt::format("{:g} MiB", static_cast<double>(bytes >> 10) / 1024)
                          : fmt::format("{} KiB", bytes >> 10);
}

std::string machine(run_info const& r) {
  std::string out;
  auto const line = [&](char const* name, std::string const& text) {
    if (!text.empty())
      out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, escape(text));
  };
  line("Processor", r.host_cpu);
  line("Device", r.device);
  if (r.cores || r.threads)
    line("Threads", fmt::format("{} on {} cores{}", r.threads, r.cores,
                                r.pinned ? ", pinned" : ", not pinned"));
  line("Instruction set", r.isa);
  if (r.l1d || r.l2 || r.l3)
    line("Caches", fmt::format("L1 {}, L2 {}, L3 {}", kib(r.l1d), kib(r.l2), kib(r.l3)));
  line("Compiler", r.compiler);
  line("tulle", r.version);
  line("Date", r.date);
  line("Command", r.command);
  return out.empty() ? out : "<dl class=machine>\n" + out + "</dl>\n";
}

std::string remarks(run_info const& r) {
  std::string out;
  if (r.steal >= 0.01) // less is within what an idle machine shows
    out +=
        fmt::format("<li>The machine gave {} % of the time to others: times are too long, ratios "
                    "suffer less.</li>\n",
                    fixed(r.steal * 100, 1));
  for (auto const& remark : r.remarks)
    out += "<li>" + escape(remark) + "</li>\n";
  return out.empty()
             ? out
             : "<aside class=remarks><b>Read with care</b>\n<ul>\n" + out + "</ul></aside>\n";
}

char const* const how_to_read = R"(<aside class=how><b>How to read the numbers</b>
<p><b>1 is as fast as any CSR can be.</b> Before each turn of a contestant, the bytes of
the CSR arrays, x and y are read once by the same threads (on a GPU: as many are copied); “of bound” is that time
over the contestant’s. Above 1
are formats that read less than CSR. Whiskers show where the median lies, 95 times of 100: where two
overlap, the order may be chance. Contestants rank by this ratio, which
moves less than times do; where there is none, by time. A wrong result has no rank and no bar.</p></aside>
)";

std::string section(std::string const& title, std::string const& words, std::string const& body) {
  if (body.empty())
    return {};
  return fmt::format("<section>\n<h3>{}</h3>\n{}{}</section>\n", title,
                     words.empty() ? words : "<p class=lead>" + words + "</p>\n", body);
}

std::string group_part(group const& g) {
  std::string out = fmt::format("<h2 id=\"{}\">{}</h2>\n", g.id, escape(g.title));
  out +=
      section("Losses",
              "Where the fastest contestant with a right result is not tulle’s. Beyond noise: the "
              "intervals of the two do not overlap.",
              losses(g));
  out +=
      section("Wrong results", "Found out by the check before measuring; in no rank and no plot.",
              wrong_results(g));
  out += section("Every matrix",
                 g.has_ratio
                     ? "Part of what the CSR bound allows; longer is faster. Blue is tulle, grey "
                       "a peer; the best of each is darker and its name bold."
                     : "GFlop/s; longer is faster. Blue is tulle, grey a peer; the best of each "
                       "is darker and its name bold.",
                 g.races.empty() ? std::string() : bars(g));
  out += section(
      "Performance profile",
      "On what part of the matrices is a contestant within a factor of the fastest? Left "
      "edge: how often it wins. Higher is better; who is missing on a matrix is never within. "
      "After Dolan and Moré, 2002.",
      performance_profile(g));
  if (g.op !=
      "spgemm") { // nothing is converted once and multiplied often there, and bytes are not known
    out += section(
        "When does conversion pay?",
        "Speed of n calls, conversion included, over n calls of tulle csr without any; "
        "geometric mean over the matrices. A curve that crosses 1 pays from there on. After "
        "Liu, 2015, tables 8.5 and 8.6.",
        break_even(g) + break_even_tables(g));
  }
  out += section("Speed and row length",
                 "Short rows cost overhead for each row, long ones amortise it. After Koza et al., "
                 "figures 6.3 to 6.8.",
                 speed_by_row_length(g));
  if (g.op != "spgemm")
    out += section(
        "Roofline",
        "A contestant on a slope moves bytes as fast as the copy does; further right it moves "
        "fewer for the same work. Solid: the bandwidth of most matrices. Faint: matrices that "
        "fit in a cache have their own.",
        roofline(g));
  return out;
}

std::string contents(model const& m, bool records) {
  std::string out;
  for (group const& g : m.groups)
    out += fmt::format("<a href=\"#{}\">{}</a>", g.id, escape(g.title));
  if (!m.sweeps.empty())
    out += "<a href=\"#sweeps\">Sweeps</a>";
  if (records)
    out += "<a href=\"#records\">All records</a>";
  return out.empty() ? out : "<nav>" + out + "</nav>\n";
}

std::string subject(results const& r) {
  std::set<std::string> matrices;
  std::set<std::string> labels;
  std::size_t peers = 0;
  for (record const& one : r.records) {
    matrices.insert(one.matrix);
    if (labels.insert(label(one)).second && !one.peer.empty())
      ++peers;
  }
  auto const some = [](std::size_t n, char const* one, char const* many) {
    return fmt::format("{} {}", n, n == 1 ? one : many);
  };
  return fmt::format(
      "How fast sparse matrices multiply: {} and {} on {}, each result checked, each "
      "time set against the fastest that memory allows.",
      some(labels.size() - peers, "format of tulle’s", "formats of tulle’s"),
      some(peers, "peer", "peers"), some(matrices.size(), "matrix", "matrices"));
}

} // namespace

std::string html_page(results const& r, std::string const& title) {
  model const m = arrange(r);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
      "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
      "<title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n<header>\n<h1>{0}</h1>\n",
      escape(title), style_sheet);
  out += r.records.empty() ? "<p class=lead>There are no records in these results.</p>\n"
                           : "<p class=lead>" + subject(r) + "</p>\n";
  out += remarks(r.run) + contents(m, !r.records.empty());
  if (!m.groups.empty())
    out += summary(m);
  out += machine(r.run) + how_to_read + "</header>\n<main>\n";
  for (group const& g : m.groups)
    out += group_part(g);
  if (!m.sweeps.empty())
    out += "<h2 id=sweeps>Sweeps</h2>\n<p class=lead>One option varied, the rest as it was; in no "
           "rank "
           "above.</p>\n" +
           sweep_plots(m.sweeps);
  if (!r.records.empty())
    out +=
        "<h2 id=records>All records</h2>\n<p class=lead>Times are of one call: the median, and the "
        "fastest. Spread is between the quartiles, over the median.</p>\n" +
        all_records(r);
  return out + "</main>\n</body>\n</html>\n";
}

} // namespace tulle::bench
