// SPDX-License-Identifier: Apache-2.0

// The page of results, as text: what must be on it, and what must never be.
#include "bench/html/page.hpp"
#include "bench/html/svg.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::report_test {
namespace {

using bench::html_page;
using bench::record;
using bench::results;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A verified record whose interval is 2 % wide each way.
record make(std::string const& matrix, std::string const& peer, std::string const& format,
            double ratio) {
  record r;
  r.matrix = matrix;
  r.rows = r.cols = 1000;
  r.nnz = 5000;
  r.op = "spmv";
  r.backend = "cpu";
  r.value = "f64";
  r.index = "i32";
  r.peer = peer;
  r.format = format;
  r.threads = 2;
  r.turns = 10;
  r.seconds = r.fastest = 1e-3 / ratio;
  r.gflops = 1e-9 * 2 * 5000 / r.seconds;
  r.bound_gbytes_per_s = 20;
  r.csr_bound_ratio = ratio;
  r.ratio_low = 0.98 * ratio;
  r.ratio_high = 1.02 * ratio;
  r.convert_seconds = format == "csr" ? 0 : 5e-3;
  r.bytes = r.peak_bytes = 64000;
  r.verified = true;
  return r;
}

results three_on(std::vector<std::string> const& matrices) {
  results out;
  for (auto const& m : matrices) {
    out.records.push_back(make(m, "", "csr", 0.9));
    out.records.push_back(make(m, "", "sell", 0.95));
    out.records.push_back(make(m, "eigen", "csr", 0.5));
  }
  return out;
}

std::size_t occurrences(std::string const& text, std::string const& what) {
  std::size_t n = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++n;
  return n;
}

bool holds(std::string const& text, std::string const& what) {
  return text.find(what) != std::string::npos;
}

std::string bar(std::string const& name) {
  return "data-bar=\"" + name + "\"";
}

/// The part of the page from one heading to the next.
std::string section(std::string const& page, std::string const& heading) {
  auto const from = page.find("<h3>" + heading + "</h3>");
  if (from == std::string::npos)
    return "";
  auto const to = std::min(page.find("<h3", from + 3), page.find("<h2", from + 3));
  return page.substr(from, to - from);
}

/// Whatever a drawing holds, its numbers are numbers.
void expect_drawable(std::string const& page) {
  for (char const* word : {"\"nan", "\"-nan", "\"inf", "\"-inf", " nan", " -nan", " inf ", "Lnan",
                           "Minf", "Linf", ">nan", ">inf", ">-nan", ">-inf"})
    EXPECT_FALSE(holds(page, word)) << word;
}

TEST(report, every_verified_record_has_one_bar) {
  auto const r = three_on({"cant", "pwtk"});
  auto const page = html_page(r, "a title");
  EXPECT_EQ(occurrences(page, "data-bar="), r.records.size());
  for (char const* name : {"cant|tulle csr", "cant|tulle sell", "cant|eigen", "pwtk|eigen"})
    EXPECT_EQ(occurrences(page, bar(name)), 1u) << name;
  EXPECT_TRUE(holds(page, "<title>a title</title>"));
}

TEST(report, bars_stand_fastest_first) {
  auto const page = html_page(three_on({"cant"}), "t");
  EXPECT_LT(page.find(bar("cant|tulle sell")), page.find(bar("cant|tulle csr")));
  EXPECT_LT(page.find(bar("cant|tulle csr")), page.find(bar("cant|eigen")));
}

TEST(report, losses_name_winner_and_factor) {
  auto r = three_on({"cant", "pwtk", "consph"});
  r.records.push_back(make("pwtk", "mkl", "csr", 1.9));    // twice tulle's best
  r.records.push_back(make("consph", "mkl", "csr", 0.96)); // within its interval
  auto const part = section(html_page(r, "t"), "Losses");
  EXPECT_TRUE(holds(part, "<td>pwtk<td>tulle sell"));
  EXPECT_TRUE(holds(part, "<td>mkl"));
  EXPECT_TRUE(holds(part, "<b>2.00</b><td><b>yes</b>"));
  EXPECT_TRUE(holds(part, "<b>1.01</b><td>no, intervals overlap"));
  EXPECT_FALSE(holds(part, "cant"));
}

TEST(report, without_losses_it_says_so) {
  EXPECT_TRUE(holds(section(html_page(three_on({"cant"}), "t"), "Losses"), "<p>None: "));
}

TEST(report, a_wrong_result_has_no_bar_and_no_rank) {
  auto r = three_on({"cant"});
  r.records.push_back(make("cant", "mkl", "csr", 5));
  r.records.back().verified = false;
  auto const page = html_page(r, "t");
  EXPECT_EQ(occurrences(page, "data-bar="), 3u);
  EXPECT_TRUE(holds(section(page, "Losses"), "<p>None: "));
  EXPECT_TRUE(holds(section(page, "Wrong results"), "✕ mkl"));
  EXPECT_TRUE(holds(section(page, "Every matrix"), "✕ wrong result"));
  for (char const* plot : {"Performance profile", "Speed and row length", "Roofline"})
    EXPECT_FALSE(holds(section(page, plot), "mkl")) << plot;
}

TEST(report, tulle_wrong_everywhere_is_a_loss) {
  results r;
  r.records = {make("cant", "", "csr", 1), make("cant", "eigen", "csr", 0.5)};
  r.records[0].verified = false;
  auto const part = section(html_page(r, "t"), "Losses");
  EXPECT_TRUE(holds(part, "<td>cant<td>no right result"));
  EXPECT_TRUE(holds(part, "<td>eigen"));
}

TEST(report, hostile_names_are_text) {
  std::string const hostile = "<script>alert(1)</script>&\"'><img onerror=x>";
  results r;
  auto bad = make(hostile, "", hostile, 0.9);
  bad.path = bad.value = bad.backend = bad.index = bad.cache = hostile;
  r.records.push_back(bad);
  bad.peer = hostile;
  bad.csr_bound_ratio = 1;
  r.records.push_back(bad);
  bad.verified = false;
  r.records.push_back(bad);
  bad.option = bad.option_value = hostile;
  r.records.push_back(bad);
  auto& i = r.run;
  i.date = i.host_cpu = i.device = i.isa = i.compiler = i.version = i.command = hostile;
  i.remarks = {hostile};
  auto const page = html_page(r, hostile);
  EXPECT_FALSE(holds(page, "<script"));
  EXPECT_FALSE(holds(page, "<img"));
  EXPECT_FALSE(holds(page, "\"'>"));
  EXPECT_TRUE(holds(page, "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;"));
  EXPECT_EQ(occurrences(page, "data-bar=\"&lt;script&gt;"), 2u);
}

TEST(report, empty_results_make_a_page) {
  auto const page = html_page({}, "nothing");
  EXPECT_TRUE(holds(page, "There are no records"));
  EXPECT_TRUE(holds(page, "</html>"));
  EXPECT_FALSE(holds(page, "<svg"));
}

TEST(report, sweeps_are_plotted_and_ranked_nowhere) {
  auto r = three_on({"cant"});
  for (char const* threads : {"8", "1", "2"}) {
    r.records.push_back(make("cant", "", "coo", 3));
    r.records.back().option = "threads";
    r.records.back().option_value = threads;
  }
  auto const page = html_page(r, "t");
  EXPECT_EQ(occurrences(page, "data-bar="), 3u);
  auto const from = page.find("<h2 id=sweeps>");
  ASSERT_NE(from, std::string::npos);
  auto const part = page.substr(from, page.find("<h2 id=records>") - from);
  EXPECT_EQ(occurrences(part, "<svg viewBox"), 1u);
  EXPECT_EQ(occurrences(part, "class=\"whisker\""), 3u);
  EXPECT_LT(part.find("threads = 1:"), part.find("threads = 2:"));
  EXPECT_LT(part.find("threads = 2:"), part.find("threads = 8:"));
  EXPECT_FALSE(holds(page.substr(0, from), "tulle coo"));
}

TEST(report, a_sweep_over_words_keeps_their_order) {
  results r;
  for (char const* schedule : {"static", "dynamic"}) {
    r.records.push_back(make("cant", "", "csr", 0.9));
    r.records.back().option = "schedule";
    r.records.back().option_value = schedule;
  }
  auto const page = html_page(r, "t");
  EXPECT_LT(page.find("schedule = static:"), page.find("schedule = dynamic:"));
}

TEST(report, numbers_that_are_none_do_no_harm) {
  for (double const v : {0.0, nan, infinity, -infinity, -1.0, 1e300, 1e-320}) {
    auto r = three_on({"cant", "pwtk"});
    for (std::size_t i : {0u, 2u, 4u}) {
      auto& one = r.records[i];
      one.seconds = one.fastest = one.spread = one.gflops = one.gbytes_per_s = v;
      one.bound_gbytes_per_s = one.csr_bound_ratio = one.ratio_low = one.ratio_high = v;
      one.convert_seconds = one.convert_calls = v;
      one.rows = one.nnz = one.bytes = 0;
    }
    r.records.push_back(r.records[0]);
    r.records.back().option = "threads";
    r.records.back().option_value = "1e999";
    r.run.steal = v;
    SCOPED_TRACE(v);
    expect_drawable(html_page(r, "t"));
  }
}

TEST(report, a_record_without_time_has_no_bar) {
  auto r = three_on({"cant"});
  r.records[1].seconds = 0;
  auto const page = html_page(r, "t");
  EXPECT_EQ(occurrences(page, "data-bar="), 2u);
  EXPECT_TRUE(holds(page, "not timed"));
}

TEST(report, nothing_is_loaded) {
  auto const page = html_page(three_on({"cant"}), "t");
  for (char const* word : {"http://", "https://", "src=", "url(", "@import", "<script", "<link"})
    EXPECT_FALSE(holds(page, word)) << word;
}

TEST(report, groups_stand_apart) {
  auto r = three_on({"cant"});
  for (int const columns : {8, 32}) {
    r.records.push_back(make("cant", "", "csr", 0.9));
    r.records.back().op = "spmm";
    r.records.back().columns = columns;
  }
  r.records.push_back(make("cant", "", "csr", 0));
  r.records.back().op = "spgemm";
  r.records.back().seconds = 1e-3;
  r.records.back().gflops = 2.5;
  r.records.back().ratio_low = r.records.back().ratio_high = 0;
  auto const page = html_page(r, "t");
  for (char const* heading :
       {">SpMV · CPU · f64</h2>", ">SpMM · CPU · f64</h2>", ">SpGEMM · CPU · f64</h2>"})
    EXPECT_EQ(occurrences(page, heading), 1u) << heading;
  EXPECT_EQ(occurrences(page, bar("cant, 8 columns|tulle csr")), 1u);
  EXPECT_EQ(occurrences(page, bar("cant, 32 columns|tulle csr")), 1u);
  EXPECT_EQ(occurrences(page, bar("cant|tulle csr")), 2u); // spmv and spgemm
  expect_drawable(page);
}

TEST(report, the_machine_and_its_remarks_are_shown) {
  auto r = three_on({"cant"});
  r.run.host_cpu = "A Processor 9000";
  r.run.steal = 0.25;
  r.run.remarks = {"the neighbours were loud"};
  auto const page = html_page(r, "t");
  EXPECT_TRUE(holds(page, "A Processor 9000"));
  EXPECT_TRUE(holds(page, "25.0 %"));
  EXPECT_LT(page.find("the neighbours were loud"), page.find("<h3>Losses</h3>"));
}

TEST(report, conversion_is_weighed_against_plain_csr) {
  results r;
  r.records = {make("cant", "", "csr", 0.5), make("cant", "", "sell", 1)};
  // 2 ms a call against 1 ms and 5 ms once: 50 calls take 100 against 55, 500 take 1000 against
  // 505.
  auto const part = section(html_page(r, "t"), "When does conversion pay?");
  EXPECT_TRUE(holds(part, ">1.82</b>"));
  EXPECT_TRUE(holds(part, ">1.98</b>"));
  EXPECT_TRUE(holds(part, "5 (1 of 1)"));
}

TEST(report, the_same_label_with_other_threads_is_another_contestant) {
  auto r = three_on({"cant"});
  r.records.push_back(make("cant", "", "csr", 0.4));
  r.records.back().threads = 1;
  auto const page = html_page(r, "t");
  EXPECT_EQ(occurrences(page, bar("cant|tulle csr ×1")), 1u);
  EXPECT_EQ(occurrences(page, bar("cant|tulle csr ×2")), 1u);
}

TEST(svg, ticks_lie_within_and_ascend) {
  for (double const from : {1e-9, 0.003, 0.7, 1.0, 45.0, 1e6})
    for (double const factor : {1.3, 2.0, 30.0, 1e4, 1e12})
      for (bool const log : {false, true}) {
        bench::html::scale const s{from, from * factor, 0, 100, log};
        auto const ticks = s.ticks(6);
        EXPECT_LE(ticks.size(), 12u) << from << " " << factor << " " << log;
        for (std::size_t i = 0; i < ticks.size(); ++i) {
          EXPECT_GE(s(ticks[i].at), -0.01);
          EXPECT_LE(s(ticks[i].at), 100.01);
          if (i > 0) {
            EXPECT_GT(ticks[i].at, ticks[i - 1].at);
          }
        }
      }
}

TEST(svg, shorten_cuts_between_characters) {
  EXPECT_EQ(bench::html::shorten("short", 5), "short");
  EXPECT_EQ(bench::html::shorten("longer", 5), "long…");
  EXPECT_EQ(bench::html::shorten("äöüäöü", 4), "äöü…");
}

} // namespace
} // namespace tulle::test::report_test
