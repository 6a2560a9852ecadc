// SPDX-License-Identifier: Apache-2.0

// Each operation beside spmv: who is right is timed, who is not is found out. The peers are those
// of test/bench/peers.
#include "bench/add/add.hpp"
#include "bench/assemble/assemble.hpp"
#include "bench/convert/convert.hpp"
#include "bench/dynamic/dynamic.hpp"
#include "bench/kron/kron.hpp"
#include "bench/level1/level1.hpp"
#include "bench/multiply_elements/multiply_elements.hpp"
#include "bench/primitive/primitive.hpp"
#include "bench/sddmm/sddmm.hpp"
#include "bench/spgemm/spgemm.hpp"
#include "bench/spmspv/spmspv.hpp"
#include "bench/table.hpp"
#include "bench/transpose/transpose.hpp"
#include "support/expect.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace tulle::bench::operations_test {
namespace {

using test::fails_with;

options quick() {
  options o;
  o.how = effort::quick;
  o.threads = 2;
  return o;
}

record find(std::vector<record> const& records, std::string const& name) {
  auto const found = std::find_if(records.begin(), records.end(),
                                  [&](record const& r) { return label(r) == name; });
  if (found == records.end())
    throw std::runtime_error("no record of " + name);
  return *found;
}

void expect_timed(std::vector<record> const& records, std::string const& name) {
  record const r = find(records, name);
  EXPECT_TRUE(r.verified) << name;
  EXPECT_GE(r.turns, 9) << name;
  EXPECT_GT(r.csr_bound_ratio, 0) << name;
  EXPECT_GT(r.bound_gbytes_per_s, 0) << name;
}

void expect_wrong(std::vector<record> const& records, std::string const& name) {
  EXPECT_FALSE(find(records, name).verified) << name;
  EXPECT_EQ(find(records, name).turns, 0) << name;
}

TEST(bench_transpose, plans_and_peers_stand_beside_new_matrices) {
  std::vector<std::string> remarks;
  for (char const* const matrix : {"gen:rmat:8:6", "gen:random:40:90:500"}) {
    auto const records = transposes(matrix, quick(), remarks);
    for (char const* const name : {"tulle csr", "tulle csr planned", "broken right"})
      expect_timed(records, name);
    expect_wrong(records, "broken untouched");
    EXPECT_EQ(records.front().op, "transpose");
  }
}

TEST(bench_sddmm, both_layouts_are_right_for_all_columns) {
  std::vector<std::string> remarks;
  options o = quick();
  o.columns = {1, 7};
  auto const records = sampled_products("gen:random:40:90:500", o, remarks);
  for (char const* const name : {"tulle csr", "tulle csr, B by rows"})
    expect_timed(records, name);
}

TEST(bench_convert, conversions_and_refills_are_told_in_products) {
  options o = quick();
  o.formats = {"sell", "acsr"};
  o.peers = {"none"};
  std::vector<std::string> remarks;
  auto const records = conversions("gen:rmat:8:6", o, remarks);
  for (char const* const name :
       {"tulle sell", "tulle sell refill", "tulle acsr", "tulle acsr refill"}) {
    expect_timed(records, name);
    record const r = find(records, name);
    EXPECT_EQ(r.convert_seconds, r.seconds) << name;
    EXPECT_GT(r.convert_calls, 0) << name;
  }
}

TEST(bench_dynamic, all_are_right_in_five_tables) {
  std::vector<std::string> remarks;
  auto const records = growths("gen:rmat:11:16", quick(), remarks);
  std::vector<std::string> tables;
  for (record const& r : records) {
    EXPECT_TRUE(r.verified) << label(r);
    EXPECT_GT(r.seconds, 0) << label(r);
    if (tables.empty() || tables.back() != r.matrix)
      tables.push_back(r.matrix);
  }
  EXPECT_EQ(tables.size(), 5u);
  for (char const* const name : {"tulle dynamic", "tulle csr merged", "tulle csr rebuilt"})
    EXPECT_EQ(find(records, name).turns, 50) << name;
  EXPECT_TRUE(growths("gen:poisson2d5:4", quick(), remarks).empty());
  EXPECT_NE(remarks.back().find("too few entries"), std::string::npos);
}

TEST(bench_add, factors_count_and_zeros_that_come_out_do_not) {
  std::vector<std::string> remarks;
  options o = quick();
  for (char const* const with : {"shift", "same", "transpose"}) {
    o.with = with;
    auto const records = sums("gen:rmat:8:6", o, remarks);
    for (char const* const name :
         {"tulle csr", "tulle csr planned", "broken right", "broken right with zeros"})
      expect_timed(records, name);
    expect_wrong(records, "broken unscaled");
    EXPECT_EQ(records.front().matrix.ends_with(with), o.with != "shift") << with;
  }
}

TEST(bench_multiply_elements, plans_stand_beside_new_matrices) {
  std::vector<std::string> remarks;
  options o = quick();
  for (char const* const with : {"shift", "same"}) {
    o.with = with;
    auto const records = element_products("gen:random:40:90:500", o, remarks);
    for (char const* const name : {"tulle csr", "tulle csr planned"})
      expect_timed(records, name);
  }
}

TEST(bench_kron, is_right) {
  std::vector<std::string> remarks;
  expect_timed(kronecker_products("gen:random:40:90:500", quick(), remarks), "tulle csr");
}

TEST(bench_spmspv, rows_columns_and_spmv_are_right) {
  std::vector<std::string> remarks;
  auto const records = sparse_products("gen:random:400:900:5000", quick(), remarks);
  for (char const* const name : {"tulle csc", "tulle csr", "tulle csr spmv"})
    expect_timed(records, name);
}

TEST(bench_add, what_is_not_square_has_no_sum_with_its_transpose) {
  std::vector<std::string> remarks;
  options o = quick();
  o.with = "transpose";
  EXPECT_TRUE(sums("gen:random:4:9:12", o, remarks).empty());
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks[0].find("not square"), std::string::npos);
}

TEST(bench_spgemm, methods_plans_and_peers_stand_beside_new_matrices) {
  std::vector<std::string> remarks;
  options o = quick();
  o.methods = {"hash", "global_esc"};
  for (char const* const product : {"aa", "aat"}) {
    o.product = product;
    auto const records = spgemm("gen:rmat:8:6", o, remarks);
    for (char const* const name : {"tulle csr", "tulle csr planned", "tulle csr by hash",
                                   "tulle csr by global_esc", "broken right"}) {
      EXPECT_TRUE(find(records, name).verified) << name;
      EXPECT_GE(find(records, name).turns, 9) << name;
      EXPECT_GT(find(records, name).gflops, 0) << name;
    }
    expect_wrong(records, "broken one entry off");
    EXPECT_THROW(find(records, "tulle csr by heap"), std::runtime_error);
    EXPECT_GT(find(records, "tulle csr").peak_bytes, 0u);
  }
  EXPECT_TRUE(spgemm("gen:random:4:9:12", quick(), remarks).empty());
}

TEST(bench_assemble, rows_come_out_sorted_and_one_thread_has_a_record_of_its_own) {
  std::vector<std::string> remarks;
  options o = quick();
  auto const records = assemblies("gen:rmat:8:6", o, remarks);
  for (char const* const name : {"tulle csr", "tulle csr 1 thread", "broken right"})
    expect_timed(records, name);
  expect_wrong(records, "broken unsorted");
  EXPECT_EQ(find(records, "tulle csr").threads, 2);
  EXPECT_EQ(find(records, "tulle csr 1 thread").threads, 1);
  o.threads = 1;
  EXPECT_THROW(find(assemblies("gen:rmat:8:6", o, remarks), "tulle csr 1 thread"),
               std::runtime_error);
}

TEST(bench_level1, every_function_is_measured_and_nobody_gets_by_with_nothing) {
  std::vector<std::string> remarks;
  auto const records = vector_calls("vector:3000:0.1", quick(), remarks);
  for (char const* const function : {"dot", "axpy", "gather", "gather_zero", "scatter", "rotate",
                                     "add", "dense_dot", "dense_axpy"}) {
    std::vector<record> of_it;
    std::copy_if(records.begin(), records.end(), std::back_inserter(of_it), [&](record const& r) {
      return r.matrix == std::string("vector:3000:0.1 ") + function;
    });
    expect_timed(of_it, "tulle vector");
    expect_wrong(of_it, "broken idle");
    bool const is_dense = std::string(function).starts_with("dense");
    EXPECT_EQ(of_it.front().nnz, is_dense ? 3000u : 300u);
    if (function == std::string("scatter")) {
      expect_timed(of_it, "broken right");
      expect_wrong(of_it, "broken stray");
    }
  }
}

TEST(bench_level1, a_vector_is_given_by_length_and_density) {
  std::vector<std::string> remarks;
  options o = quick();
  o.peers = {"none"};
  for (char const* const spec : {"vector:1:1", "vector:5:0", "vector:0:1", "vector:7:0.5"})
    for (record const& r : vector_calls(spec, o, remarks))
      EXPECT_TRUE(r.verified) << r.matrix;
  for (char const* const bad : {"vector", "vector:", "vector:10", "vector:10:", "vector:10:2",
                                "vector:-1:0.5", "vector:10:-0.5", "vector:10:0.5x", "gen:fem:3"})
    EXPECT_TRUE(fails_with(errc::unsupported, {bad, "vector:LENGTH:DENSITY"}, [&] {
      vector_calls(bad, o, remarks);
    })) << bad;
  EXPECT_TRUE(fails_with(errc::overflow, {"3000000000", "32-bit"},
                         [&] { vector_calls("vector:3000000000:0", o, remarks); }));
}

TEST(bench_primitive, merges_intersections_and_sorts_are_measured) {
  std::vector<std::string> remarks;
  auto const records = list_calls("lists:50:20", quick(), remarks);
  EXPECT_EQ(records.size(), 3u + 2u + 2u + 2u);
  for (record const& r : records) {
    EXPECT_TRUE(r.verified) << r.matrix << " " << label(r);
    EXPECT_GT(r.seconds, 0);
  }
  EXPECT_EQ(list_calls("lists:50:300", quick(), remarks).size(),
            3u + 2u + 2u); // no network sorts that many
  EXPECT_EQ(list_calls("lists:0:1", quick(), remarks).size(), records.size());
  for (char const* const bad : {"lists", "lists:", "lists:3", "lists:3:", "lists:3:0", "lists:-1:2",
                                "lists:3:1000001", "lists:3:2x", "vector:3:1"})
    EXPECT_TRUE(fails_with(errc::unsupported, {bad, "lists:NUMBER:LENGTH"}, [&] {
      list_calls(bad, quick(), remarks);
    })) << bad;
}

TEST(bench_operations, all_types_are_measured) {
  std::vector<std::string> remarks;
  options o = quick();
  o.peers = {"none"};
  for (char const* const value : {"f32", "f64"})
    for (char const* const index : {"i32", "i64"}) {
      o.value = value;
      o.index = index;
      std::vector<record> all;
      for (auto* const op : {transposes, sums, assemblies})
        for (record const& r : op("gen:random:30:20:100", o, remarks))
          all.push_back(r);
      for (record const& r : vector_calls("vector:100:0.2", o, remarks))
        all.push_back(r);
      for (record const& r : list_calls("lists:20:3", o, remarks))
        all.push_back(r);
      EXPECT_EQ(all.size(), 2u + 2u + 2u + 9u + 9u);
      for (record const& r : all) {
        EXPECT_TRUE(r.verified) << r.op << " " << r.matrix << " " << value << " " << index;
        EXPECT_EQ(r.value + r.index, std::string(value) + index);
      }
    }
}

TEST(bench_operations, awkward_matrices_are_measured_too) {
  std::vector<std::string> remarks;
  options o = quick();
  o.peers = {"none"};
  for (auto* const op : {transposes, sums, assemblies})
    for (char const* const matrix :
         {"gen:permutation:1", "gen:random:5:0:0", "gen:random:0:5:0", "gen:random:1:1000:40"})
      for (record const& r : op(matrix, o, remarks))
        EXPECT_TRUE(r.verified) << r.op << " " << matrix;
}

TEST(bench_table, says_how_many_threads_there_were_though_the_fastest_has_one) {
  record r;
  r.matrix = "m";
  r.op = "assemble";
  r.backend = "cpu";
  r.verified = true;
  r.seconds = 1;
  r.threads = 1;
  record slower = r;
  slower.seconds = 2;
  slower.threads = 2;
  EXPECT_NE(table({r, slower}, false).find("assemble on 2 threads"), std::string::npos);
}

} // namespace
} // namespace tulle::bench::operations_test
