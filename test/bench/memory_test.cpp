// SPDX-License-Identifier: Apache-2.0

// Contestants within a budget of memory: groups, those left out, and what others get of it. And who
// is called fastest.
#include "tulle/core/error.hpp"

#include "bench/contest.hpp"
#include "bench/memory.hpp"
#include "bench/spmv/spmv.hpp"
#include "bench/table.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <new>

namespace tulle::bench::memory_test {
namespace {

namespace fs = std::filesystem;

options quick() {
  options o;
  o.how = effort::quick;
  o.threads = 1;
  o.peers = {"none"};
  return o;
}

bool said(std::vector<std::string> const& remarks, std::string const& words) {
  return std::any_of(remarks.begin(), remarks.end(),
                     [&](auto const& r) { return r.find(words) != std::string::npos; });
}

entrant one(
    std::string const& name, std::size_t bytes, std::function<void()> before = [] {}) {
  return {"tulle " + name, bytes, [=] {
            before();
            contestant c;
            c.format = name;
            c.peak_bytes = bytes;
            c.run = [] {};
            return std::vector<contestant>{c};
          }};
}

contest among(std::vector<entrant> entrants) {
  contest c;
  c.about.matrix = "m";
  c.entrants = std::move(entrants);
  c.verify = [](contestant const&) { return true; };
  return c;
}

std::vector<std::string> formats(std::vector<record> const& records) {
  std::vector<std::string> names;
  for (record const& r : records)
    names.push_back(r.format);
  return names;
}

using names = std::vector<std::string>;

TEST(bench_memory, groups_hold_no_more_than_the_budget) {
  options o = quick();
  o.memory = 250;
  std::vector<names> groups;
  o.on_records = [&](auto const& records) { groups.push_back(formats(records)); };
  std::vector<std::string> remarks;
  auto const all =
      hold(among({one("a", 100), one("b", 100), one("c", 100), one("d", 200)}), o, remarks);
  EXPECT_EQ(groups, (std::vector<names>{{"a", "b"}, {"c"}, {"d"}}));
  EXPECT_EQ(formats(all), (names{"a", "b", "c", "d"}));
  EXPECT_TRUE(said(remarks, "m: measured in 3 groups"));
}

TEST(bench_memory, who_does_not_fit_is_left_out_and_never_made) {
  options o = quick();
  o.memory = 249;
  std::vector<std::string> remarks;
  auto const records =
      hold(among({one("a", 100), one("big", 251, [] { FAIL(); }), one("c", 100)}), o, remarks);
  EXPECT_EQ(formats(records), (names{"a", "c"}));
  EXPECT_TRUE(
      said(remarks, "tulle big is left out: it may need 0.3 kB, and there is room for 0.2 kB"));
}

TEST(bench_memory, an_allocation_that_fails_is_tried_alone_then_left_out) {
  int calls = 0;
  std::vector<std::string> remarks;
  auto const records = hold(
      among({one("a", 1), one("later", 1, [&] { calls++ == 0 ? throw std::bad_alloc() : void(); }),
             one("never", 1, [] { fail(errc::out_of_memory, "spmv: no"); }), one("c", 1)}),
      quick(), remarks);
  EXPECT_EQ(formats(records), (names{"a", "later", "c"}));
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(said(remarks, "tulle never is left out: memory did not suffice"));
}

TEST(bench_memory, a_run_that_lacks_memory_is_no_wrong_result) {
  std::vector<std::string> remarks;
  contest c = among({one("a", 1)});
  contestant poor;
  poor.format = "poor";
  poor.run = [] { throw std::bad_alloc(); };
  c.contestants.push_back(poor);
  EXPECT_EQ(formats(hold(c, quick(), remarks)), names{"a"});
  EXPECT_TRUE(said(remarks, "tulle poor is left out: memory did not suffice"));
}

TEST(bench_memory, errors_of_our_own_are_not_hidden) {
  std::vector<std::string> remarks;
  EXPECT_THROW(
      hold(among({one("a", 1, [] { fail(errc::bad_structure, "mistake"); })}), quick(), remarks),
      error);
}

TEST(bench_memory, every_format_within_a_small_budget) {
  std::vector<std::string> remarks;
  options o = quick();
  o.formats = {"csr", "coo", "csc", "sell"};
  o.memory = 700'000; // of a matrix of 104 kB: not all at once
  auto records = formats(spmv("gen:lattice:2000", o, remarks));
  std::sort(records.begin(), records.end());
  EXPECT_EQ(records, (names{"coo", "csc", "csr", "sell"}));
  o.memory = 300'000;
  remarks.clear();
  EXPECT_EQ(spmv("gen:lattice:2000", o, remarks).size(), 4u);
  EXPECT_TRUE(said(remarks, "gen:lattice:2000: measured in")) << remarks.size();
  o.memory = 100'000;
  remarks.clear();
  EXPECT_EQ(formats(spmv("gen:lattice:2000", o, remarks)), names{"csr"});
  EXPECT_TRUE(said(remarks, "tulle coo is left out: it may need"));
}

TEST(bench_memory, what_is_available_is_the_least_of_machine_and_groups) {
  fs::path const root = fs::path(testing::TempDir()) / "bench_memory_root";
  auto const write = [&](std::string const& path, std::string const& text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  fs::remove_all(root);
  write("proc/meminfo", "MemTotal: 900 kB\nMemAvailable:    500 kB\n");
  EXPECT_EQ(available_memory(root), 500u * 1024);
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/memory.max", "300000\n");
  write("sys/fs/cgroup/job/memory.current", "120000\n");
  EXPECT_EQ(available_memory(root), 180000u);
  write("sys/fs/cgroup/job/memory.stat", "anon 100000\ninactive_file 20000\n");
  EXPECT_EQ(available_memory(root), 200000u);
  write("sys/fs/cgroup/job/step/memory.max", "1000\n");
  write("sys/fs/cgroup/job/step/memory.current", "4000\n");
  EXPECT_EQ(available_memory(root), 0u);
  write("proc/self/cgroup", "5:cpu:/x\n4:memory:/y\n");
  write("sys/fs/cgroup/memory/y/memory.limit_in_bytes", "700\n");
  write("sys/fs/cgroup/memory/y/memory.usage_in_bytes", "100\n");
  EXPECT_EQ(available_memory(root), 600u);
  fs::remove_all(root);
}

record result(std::string const& peer, double ratio, double low, double high) {
  record r;
  r.matrix = "m";
  r.peer = peer;
  r.format = "csr";
  r.verified = true;
  r.seconds = 1 / ratio;
  r.csr_bound_ratio = ratio;
  r.ratio_low = low;
  r.ratio_high = high;
  return r;
}

TEST(bench_closing_line, a_format_is_fastest_only_beyond_its_interval) {
  record const peer = result("eigen", .90, .89, .91);
  EXPECT_EQ(closing_line({result("", 1, .95, 1.05), peer}),
            "Fastest: tulle csr on m (1.11x eigen).\n");
  EXPECT_EQ(closing_line({result("", 1, .88, 1.12), peer}),
            "On m tulle csr is as fast as eigen.\n");
  EXPECT_EQ(closing_line({peer, result("", .8, .7, .95)}),
            "Fastest: eigen on m (1.12x tulle csr).\n");
  record without = result("", 1, 0, 0), other = peer; // no bound: times and their spread
  without.csr_bound_ratio = other.csr_bound_ratio = 0;
  without.spread = .02;
  EXPECT_EQ(closing_line({without, other}), "Fastest: tulle csr on m (1.11x eigen).\n");
  without.spread = .4;
  EXPECT_EQ(closing_line({without, other}), "On m tulle csr is as fast as eigen.\n");
}

} // namespace
} // namespace tulle::bench::memory_test
