// SPDX-License-Identifier: Apache-2.0

// What spgemm_forecast says against what spgemm then takes.
#include "tulle/gen/generate.hpp"
#include "tulle/op/spgemm_forecast.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::spgemm_forecast_test {
namespace {

std::size_t products_of(csr<double> const& a, csr<double> const& b) {
  std::size_t n = 0;
  for (std::int32_t const j : a.col)
    n += static_cast<std::size_t>(b.row_ptr[static_cast<std::size_t>(j) + 1] -
                                  b.row_ptr[static_cast<std::size_t>(j)]);
  return n;
}

TEST(spgemm_forecast, counts_all_rows_where_there_are_few) {
  for (animal const& a : zoo()) {
    if (a.matrix.rows != a.matrix.cols || a.matrix.rows > 1000)
      continue;
    csr<double> const canonical = a.matrix.to_csr();
    csr<double> const c = spgemm(a.matrix, a.matrix);
    product_forecast const f = spgemm_forecast(a.matrix, a.matrix);
    EXPECT_TRUE(f.is_exact) << a.name;
    EXPECT_EQ(f.products, products_of(canonical, canonical)) << a.name;
    EXPECT_EQ(f.entries, static_cast<double>(c.val.size())) << a.name;
    EXPECT_EQ(f.entries_low, f.entries_high) << a.name;
    EXPECT_EQ(f.result_bytes, c.bytes()) << a.name;
    EXPECT_GE(f.most_entries, c.val.size()) << a.name;
    EXPECT_LE(f.most_entries, f.products) << a.name;
  }
}

TEST(spgemm_forecast, estimates_within_what_it_states_and_the_same_every_time) {
  int hits = 0, all = 0;
  for (char const* const spec :
       {"poisson2d5:80", "fem:6000", "rmat:12:8", "lattice:5000", "random:6000:6000:40000",
        "circuit:5000", "banded:4000:9", "rmat:12:8@2", "rmat:12:8@3", "rmat:11:20@4"}) {
    csr<double> const a = generate<double>(spec);
    std::size_t const entries = spgemm(a, a).val.size();
    product_forecast const f = spgemm_forecast(a, a);
    EXPECT_FALSE(f.is_exact) << spec;
    EXPECT_EQ(f.products, products_of(a, a)) << spec;
    EXPECT_LE(f.sampled_rows, 1000u) << spec;
    EXPECT_LE(f.entries_low, f.entries) << spec;
    EXPECT_LE(f.entries, f.entries_high) << spec;
    EXPECT_NEAR(f.entries, static_cast<double>(entries), .1 * static_cast<double>(entries)) << spec;
    EXPECT_GE(f.most_entries, entries) << spec;
    EXPECT_GT(f.seconds, 0) << spec;
    tracking_memory memory; // entries are an estimate, and with them the peak
    spgemm(cpu{.threads = 2, .memory = &memory}, a, a);
    EXPECT_LE(memory.peak(), spgemm_forecast(cpu{.threads = 2}, a, a).peak_bytes * 11 / 10) << spec;
    hits += f.entries_low <= static_cast<double>(entries) &&
            static_cast<double>(entries) <= f.entries_high;
    ++all;
    EXPECT_EQ(spgemm_forecast(cpu{.threads = 1}, a, a).entries, f.entries) << spec;
  }
  EXPECT_GE(hits, all - 1);
}

TEST(spgemm_forecast, tells_the_workspace_that_a_plan_keeps) {
  csr<double> const a = generate<double>("fem:3000");
  for (std::size_t const limit : {SIZE_MAX, std::size_t(40000)}) {
    cpu const w{.threads = 2, .workspace_limit = limit};
    product_forecast const f = spgemm_forecast(w, a, a);
    spgemm_plan const plan(w, a, a);
    EXPECT_GE(f.workspace_bytes, plan.bytes());
    EXPECT_LE(f.workspace_bytes, limit);
    EXPECT_EQ(f.peak_bytes, f.result_bytes + f.workspace_bytes);
    EXPECT_NE(plan.path().find(f.path), std::string::npos) << f.path;
  }
}

TEST(spgemm_forecast, refuses_what_spgemm_refuses) {
  csr<double> const a = from_lengths(9, {1, 2, 3});
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spgemm", "A is 3 x 9", "B is 3 x 9"},
                         [&] { spgemm_forecast(a, a); }));
}

} // namespace
} // namespace tulle::test::spgemm_forecast_test
