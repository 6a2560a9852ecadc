// SPDX-License-Identifier: Apache-2.0

// What is said of many times, of two runs, and that files of records come back as they were.
#include "bench/compare.hpp"
#include "bench/markdown.hpp"
#include "bench/measure.hpp"
#include "bench/record.hpp"
#include "support/expect.hpp"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>

namespace tulle::bench::numbers_test {
namespace {

using test::fails_with;

record row(std::string const& peer, double ratio, double noise = .01) {
  record r;
  r.matrix = "m";
  r.op = "spmv";
  r.format = "csr";
  r.peer = peer;
  r.verified = true;
  r.seconds = 1 / ratio;
  r.csr_bound_ratio = ratio;
  r.ratio_low = ratio * (1 - noise);
  r.ratio_high = ratio * (1 + noise);
  return r;
}

TEST(statistic, of_few_and_of_many) {
  EXPECT_EQ(statistic_of({}).median, 0);
  statistic const one = statistic_of({3});
  EXPECT_EQ(one.median, 3);
  EXPECT_EQ(one.low, 3);
  EXPECT_EQ(one.high, 3);
  std::vector<double> values;
  for (int i = 100; i >= 0; --i)
    values.push_back(i);
  statistic const many = statistic_of(values);
  EXPECT_EQ(many.median, 50);
  EXPECT_EQ(many.least, 0);
  EXPECT_EQ(many.spread, 1);
  EXPECT_EQ(many.low, 40); // 50 - .98 sqrt(101), to the nearest
  EXPECT_EQ(many.high, 60);
}

// Both slow down together in turns two and three: the ratio does not notice.
TEST(statistic, ratios_are_taken_turn_by_turn) {
  statistic const r =
      ratio_of({.seconds = {2, 20, 10, 2, 2}, .bound = {1, 10, 5, 1, 1}, .product = {}});
  EXPECT_EQ(r.median, .5);
  EXPECT_EQ(r.spread, 0);
}

TEST(measure, gives_every_contestant_the_same_turns_and_each_its_bound) {
  std::vector<contestant> two(2);
  int calls = 0;
  two[0].run = [&] { ++calls; };
  two[1].timed_run = [] { return .25; };
  contestant bound;
  bound.timed_run = [] { return .125; };
  auto const times = measure(two, &bound, effort::quick, false);
  EXPECT_EQ(times[0].seconds.size(), times[1].seconds.size());
  EXPECT_EQ(times[0].seconds.size(), times[0].bound.size());
  EXPECT_GE(times[0].seconds.size(), 9u);
  EXPECT_EQ(statistic_of(times[1].seconds).median, .25);
  EXPECT_EQ(ratio_of(times[1]).median, .5);
  EXPECT_GT(calls, 9);
  EXPECT_TRUE(measure(two, nullptr, effort::quick, false)[1].bound.empty());
}

TEST(times_faster, goes_by_ratios_where_both_have_one) {
  record a = row("a", .5), b = row("b", .25);
  a.seconds = 3; // a busy moment
  b.seconds = 2;
  EXPECT_EQ(times_faster(a, b), 2);
  b.csr_bound_ratio = 0;
  EXPECT_EQ(times_faster(b, a), 1.5);
}

TEST(compare, tells_slower_and_faster_beyond_noise) {
  results before, after;
  for (auto const& [name, old_ratio, new_ratio, noise] :
       {std::tuple{"", 1.0, .8, .01}, std::tuple{"a", 1.0, 1.5, .01},
        std::tuple{"b", 1.0, 1.02, .01}, std::tuple{"c", 1.0, .8, .2}}) {
    before.records.push_back(row(name, old_ratio, noise));
    after.records.push_back(row(name, new_ratio, noise));
  }
  before.records.push_back(row("gone", 1));
  after.records.push_back(row("new", 1));
  comparison const c = compare(before, after);
  ASSERT_EQ(c.rows.size(), 4u);
  EXPECT_TRUE(c.rows[0].is_beyond(.05) || c.rows[1].is_beyond(.05));
  std::string const text = text_of(c, .05);
  EXPECT_NE(text.find("4 rows: 1 slower, 1 faster, 2 within"), std::string::npos) << text;
  EXPECT_NE(text.find("tulle csr"), std::string::npos) << text;
  EXPECT_EQ(c.only_old.size(), 1u);
  EXPECT_EQ(c.only_new.size(), 1u);
}

TEST(compare, a_result_that_became_wrong_is_a_regression) {
  results before, after;
  before.records = {row("", 1)};
  after.records = {row("", 1)};
  after.records[0].verified = false;
  EXPECT_NE(text_of(compare(before, after), .05).find("WRONG"), std::string::npos);
}

TEST(markdown, has_a_line_a_matrix_and_the_best_variant_of_a_peer) {
  results all;
  all.records = {row("", .5), row("mkl", .25), row("mkl", .75), row("wrong", 2)};
  all.records[2].format = "optimised";
  all.records[3].verified = false;
  std::string const text = markdown(all);
  EXPECT_NE(text.find("| matrix | tulle csr | mkl |\n|---|---|---|\n| m | 0.50 | **0.75** |\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("wrong"), std::string::npos);
}

TEST(markdown, weighs_conversion_against_the_fastest_csr) {
  results all;
  all.records = {row("", .5), row("", 2), row("mkl", 1)}; // mkl's is the one to beat
  for (record& r : all.records) {
    r.nnz = 100;
    r.bytes = 1200;
  }
  all.records[1].format = "csr5";
  all.records[1].convert_seconds = 25;
  std::string const text = markdown(all);
  EXPECT_NE(text.find("| matrix | tulle csr | tulle csr5 |\n|---|---|---|\n| m | 12.0 | 12.0 |\n"),
            std::string::npos)
      << text;
  // 50 / (25 + 25) and 500 / (25 + 250)
  EXPECT_NE(text.find("| tulle csr5 | 50.0 | 1.00 | 1.00 | 1.82 | 1.82 |\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("| tulle csr | 0.0 | 0.50 | 0.50 | 0.50 | 0.50 |\n"), std::string::npos)
      << text;
}

TEST(results, come_back_as_they_were_written) {
  std::string const name = testing::TempDir() + "tulle_results.json";
  run_info run;
  run.host_cpu = "a \"quoted\" processor";
  run.remarks = {"one", "two"};
  run.steal = .25;
  record r = row("peer", .1);
  r.nnz = 1234567890123;
  r.path = "back\\slash";
  std::ofstream(name) << json_line(run) << "\n\n" << json_line(r) << "\n";
  results const back = read_results(name);
  EXPECT_EQ(json_line(back.run), json_line(run));
  ASSERT_EQ(back.records.size(), 1u);
  EXPECT_EQ(json_line(back.records[0]), json_line(r));
  std::remove(name.c_str());
}

TEST(results, that_are_none_are_refused_with_the_line) {
  std::string const name = testing::TempDir() + "tulle_no_results.json";
  std::ofstream(name) << json_line(row("peer", 1)) << "\n{\"matrix\": 3}\n";
  EXPECT_TRUE(fails_with(errc::io, {"tulle_no_results.json:2"}, [&] { read_results(name); }));
  std::ofstream(name) << "not json\n";
  EXPECT_TRUE(fails_with(errc::io, {"tulle_no_results.json:1"}, [&] { read_results(name); }));
  std::ofstream(name) << "{}\n";
  EXPECT_TRUE(fails_with(errc::io, {":1", "without a matrix"}, [&] { read_results(name); }));
  EXPECT_TRUE(fails_with(errc::io, {"nowhere.json"}, [&] { read_results("/nowhere.json"); }));
  std::remove(name.c_str());
}

} // namespace
} // namespace tulle::bench::numbers_test
