// SPDX-License-Identifier: Apache-2.0

// How tulle stands against the best peer: as text for a suite, and as a plot.
#include "tulle/core/error.hpp"

#include "bench/html/plot.hpp"
#include "bench/summary.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::bench::summary_test {
namespace {

record make(std::string const& matrix, std::string const& peer, std::string const& format,
            double ratio, std::size_t nnz = 100'000) {
  record r;
  r.matrix = matrix;
  r.rows = r.cols = 1000;
  r.nnz = nnz;
  r.op = "spmv";
  r.backend = "cpu";
  r.value = "f64";
  r.index = "i32";
  r.peer = peer;
  r.format = format;
  r.threads = 2;
  r.seconds = 1e-3 / ratio;
  r.csr_bound_ratio = ratio;
  r.verified = true;
  return r;
}

/// On a/cant csr is half as fast as mkl, sell twice; on b/pwtk csr is twice as fast as eigen.
results two() {
  results r;
  r.records = {
      make("a/pwtk.mtx.gz", "", "csr", 1, 5'000), make("a/pwtk.mtx.gz", "eigen", "csr", .5, 5'000),
      make("a/cant.mtx", "", "csr", .4),          make("a/cant.mtx", "", "sell", 1.6),
      make("a/cant.mtx", "", "optimize", 1.2),    make("a/cant.mtx", "eigen", "csr", .3),
      make("a/cant.mtx", "mkl", "csr", .8)};
  return r;
}

bool holds(std::string const& text, std::string const& what) {
  return text.find(what) != std::string::npos;
}

TEST(bench_summary, names_a_file_without_folder_and_ending) {
  EXPECT_EQ(matrix_name("/a/b.c/xenon1.mtx.gz"), "xenon1");
  EXPECT_EQ(matrix_name("xenon1.mtx"), "xenon1");
  EXPECT_EQ(matrix_name("a/xenon1.mtx.gz A A^T"), "xenon1 A A^T");
  EXPECT_EQ(matrix_name("a/xenon1.mtx, 8 columns"), "xenon1, 8 columns");
  EXPECT_EQ(matrix_name("gen:fem:60000"), "gen:fem:60000");
  EXPECT_EQ(matrix_name("a/graph.txt"), "a/graph.txt");
}

TEST(bench_summary, ratios_are_against_the_fastest_peer) {
  auto const all = standings_of(two());
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].peers, (std::vector<std::string>{"eigen", "mkl"}));
  ASSERT_EQ(all[0].lines.size(), 2U);
  standing const& cant = all[0].lines[0]; // csr is furthest behind there
  EXPECT_EQ(cant.matrix, "cant");
  EXPECT_EQ(cant.peer, "mkl");
  EXPECT_DOUBLE_EQ(cant.csr, .5);
  EXPECT_DOUBLE_EQ(cant.optimized, 1.5);
  EXPECT_DOUBLE_EQ(cant.best, 2);
  EXPECT_EQ(cant.best_label, "sell");
  EXPECT_DOUBLE_EQ(all[0].lines[1].csr, 2);
  EXPECT_EQ(all[0].lines[1].optimized, 0);
}

TEST(bench_summary, says_means_and_losses_first) {
  std::string const text = summary(two());
  EXPECT_TRUE(
      holds(text, "csr as given     1.00           0.50           2.00     0.50       1 of 2"))
      << text;
  EXPECT_TRUE(
      holds(text, "best format      2.00           2.00           2.00     2.00       0 of 2"))
      << text;
  EXPECT_LT(text.find("\n  cant "), text.find("\n  pwtk "));
}

TEST(bench_summary, leaves_out_what_cannot_be_compared) {
  results r;
  r.records = {make("a.mtx", "", "csr", 1), make("b.mtx", "mkl", "csr", 1)};
  EXPECT_TRUE(standings_of(r).empty());
  EXPECT_EQ(summary(r), "");
  r.records.push_back(make("a.mtx", "mkl", "csr", 3));
  r.records.back().verified = false; // a wrong result is no rival
  EXPECT_EQ(summary(r), "");
}

TEST(bench_plot, has_a_mark_for_each_ratio) {
  std::string const svg = svg_plot(two(), "a <title> & more", theme::light);
  EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_TRUE(holds(svg, "a &lt;title&gt; &amp; more"));
  EXPECT_TRUE(holds(svg, "<title>cant: csr as given 0.50 times as fast as oneMKL</title>"));
  EXPECT_TRUE(holds(svg, "<title>cant: optimize 1.50 times as fast as oneMKL</title>"));
  EXPECT_TRUE(holds(svg, "CSR as given: 1.00× (geometric mean), 1 of 2 behind"));
  EXPECT_TRUE(holds(svg, "against the fastest of oneMKL and Eigen") ||
              holds(svg, "against the fastest of Eigen and oneMKL"));
}

TEST(bench_plot, themes_differ_in_colours_alone) {
  std::string const light = svg_plot(two(), "t", theme::light);
  std::string const dark = svg_plot(two(), "t", theme::dark);
  EXPECT_NE(light, dark);
  auto const without_colours = [](std::string text) {
    for (auto at = text.find('#'); at != std::string::npos; at = text.find('#', at))
      text.erase(at, 7);
    return text;
  };
  EXPECT_EQ(without_colours(light), without_colours(dark));
}

TEST(bench_plot, draws_numbers_only) {
  results r = two();
  r.records.push_back(make("c.mtx", "", "csr", 1e-300));
  r.records.push_back(make("c.mtx", "mkl", "csr", 1e300));
  r.records.push_back(make("d.mtx", "", "csr", std::numeric_limits<double>::quiet_NaN()));
  r.records.push_back(make("d.mtx", "mkl", "csr", 1));
  std::string const svg = svg_plot(r, "t", theme::dark);
  for (char const* word : {"\"nan", "\"-nan", "\"inf", "\"-inf", " nan", " inf ", "Mnan", "Lnan"})
    EXPECT_FALSE(holds(svg, word)) << word;
}

TEST(bench_plot, of_nothing_is_an_error) {
  EXPECT_THROW(svg_plot({}, "t", theme::light), error);
}

} // namespace
} // namespace tulle::bench::summary_test
