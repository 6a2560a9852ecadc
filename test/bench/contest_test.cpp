// SPDX-License-Identifier: Apache-2.0

// Who takes part in a benchmark, and who takes a place. The peers are those of test/bench/peers.
#include "bench/peer_modules.hpp"
#include "bench/spmm/spmm.hpp"
#include "bench/spmv/spmv.hpp"
#include "bench/table.hpp"
#include "support/expect.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace tulle::bench::contest_test {
namespace {

using test::fails_with;

options quick() {
  options o;
  o.how = effort::quick;
  o.formats = {"csr"};
  o.threads = 2;
  return o;
}

record const& find(std::vector<record> const& records, std::string const& name) {
  auto const found = std::find_if(records.begin(), records.end(),
                                  [&](record const& r) { return label(r) == name; });
  if (found == records.end())
    throw std::runtime_error("no record of " + name);
  return *found;
}

TEST(bench_spmv, wrong_contestants_are_shown_as_wrong_and_not_timed) {
  std::vector<std::string> remarks;
  auto const records = spmv("gen:lattice:2000", quick(), remarks);
  for (char const* const name : {"broken off", "broken lazy", "broken thrower"}) {
    EXPECT_FALSE(find(records, name).verified) << name;
    EXPECT_EQ(find(records, name).seconds, 0) << name;
    EXPECT_EQ(find(records, name).turns, 0) << name;
  }
  for (char const* const name : {"broken right", "tulle csr"}) {
    record const& r = find(records, name);
    EXPECT_TRUE(r.verified) << name;
    EXPECT_GE(r.turns, 9) << name;
    EXPECT_GT(r.csr_bound_ratio, 0) << name;
    EXPECT_LE(r.ratio_low, r.csr_bound_ratio) << name;
    EXPECT_LE(r.csr_bound_ratio, r.ratio_high) << name;
    EXPECT_LE(r.fastest, r.seconds) << name;
  }
}

TEST(bench_spmv, tables_and_closing_line_give_wrong_ones_no_place) {
  std::vector<std::string> remarks;
  auto const records = spmv("gen:lattice:2000", quick(), remarks);
  std::string const text = table(records, false);
  EXPECT_LT(text.find("tulle csr"), text.find("WRONG"));
  EXPECT_LT(text.find("broken right"), text.find("WRONG"));
  EXPECT_NE(text.find("WRONG  no rank"), std::string::npos);
  EXPECT_EQ(closing_line(records).find("broken off"), std::string::npos);
  EXPECT_EQ(closing_line(records).find("broken lazy"), std::string::npos);
}

TEST(bench_spmv, a_peer_that_fails_is_a_remark_and_the_others_go_on) {
  std::vector<std::string> remarks;
  auto const records = spmv("gen:lattice:2000", quick(), remarks);
  auto const said = [&](std::string const& words) {
    return std::any_of(remarks.begin(), remarks.end(),
                       [&](auto const& r) { return r.find(words) != std::string::npos; });
  };
  EXPECT_TRUE(said("absent takes no part: no licence found"));
  EXPECT_TRUE(said("out of luck"));
  EXPECT_FALSE(records.empty());
}

TEST(bench_spmv, peers_can_be_chosen) {
  std::vector<std::string> remarks;
  options o = quick();
  o.peers = {"none"};
  for (record const& r : spmv("gen:lattice:2000", o, remarks))
    EXPECT_EQ(r.peer, "");
  EXPECT_TRUE(remarks.empty() || remarks.front().find("busy") != std::string::npos);
  o.peers = {"mkll"};
  EXPECT_TRUE(fails_with(errc::unsupported, {"mkll", "absent, broken"},
                         [&] { spmv("gen:lattice:2000", o, remarks); }));
}

TEST(bench_spmv, sweeps_give_one_record_a_value) {
  std::vector<std::string> remarks;
  options o = quick();
  o.sweep = "threads=1,2,3";
  auto const records = spmv("gen:lattice:2000", o, remarks);
  ASSERT_EQ(records.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(records[k].option, "threads");
    EXPECT_EQ(records[k].threads, static_cast<int>(k + 1));
  }
  for (char const* const bad :
       {"threads", "=2", "threads=", "threads=0", "threads=two", "sigma=4"}) {
    o.sweep = bad;
    EXPECT_TRUE(fails_with(errc::unsupported, {}, [&] { spmv("gen:lattice:2000", o, remarks); }))
        << bad;
  }
}

TEST(bench_spmv, awkward_matrices_are_measured_too) {
  std::vector<std::string> remarks;
  options o = quick();
  o.formats = {"all"};
  for (char const* const matrix :
       {"gen:permutation:1", "gen:random:5:0:0", "gen:random:1:1000:40"}) {
    auto const records = spmv(matrix, o, remarks);
    EXPECT_TRUE(find(records, "tulle csr").verified) << matrix;
    EXPECT_TRUE(find(records, "tulle coo").verified) << matrix;
  }
}

TEST(bench_spmm, every_road_is_verified_and_says_which_it_is) {
  std::vector<std::string> remarks;
  options o = quick();
  o.columns = {2};
  o.formats = {"csr", "csr_pool", "ell"};
  auto const records = spmm("gen:lattice:200", o, remarks);
  for (char const* const who :
       {"tulle csr", "tulle csr_pool", "tulle csr column", "tulle dynamic_csr"})
    EXPECT_TRUE(find(records, who).verified) << who;
  EXPECT_NE(find(records, "tulle csr").path.find("csr rows"), std::string::npos);
  EXPECT_NE(find(records, "tulle ell").path.find("column by column"), std::string::npos);
}

} // namespace
} // namespace tulle::bench::contest_test
