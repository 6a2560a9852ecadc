// SPDX-License-Identifier: Apache-2.0

// Which matrices a suite is: in which order, what is left out and said so, what a folder changes.
#include "tulle/core/error.hpp"
#include "tulle/gen/generate.hpp"

#include "bench/suites.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace tulle::bench::suites_test {
namespace {

using list = std::vector<std::string>;

list suite(std::string const& name, std::string const& op, list& remarks,
           std::string const& backend = "cpu", std::string const& folder = "") {
  options o;
  o.suite = name;
  o.backend = backend;
  o.folder = folder;
  return matrices_of(o, op, remarks);
}

TEST(bench_suites, graphs_come_by_size_and_the_largest_are_for_devices) {
  list here, there;
  list const on_cpu = suite("graphs", "dynamic", here),
             on_device = suite("graphs", "dynamic", there, "cuda");
  EXPECT_TRUE(there.empty());
  ASSERT_LT(on_cpu.size(), on_device.size());
  EXPECT_TRUE(std::equal(on_cpu.begin(), on_cpu.end(), on_device.begin()));
  EXPECT_EQ(here.size(), on_device.size() - on_cpu.size());
  for (std::string const& remark : here)
    EXPECT_NE(remark.find("million entries"), std::string::npos) << remark;
  std::uint64_t before = 0;
  for (std::string const& matrix : on_device) {
    auto const models = gen::models();
    auto const m = std::find_if(models.begin(), models.end(), [&](gen::model const& one) {
      return matrix == "gen:like:" + std::string(one.name);
    });
    ASSERT_NE(m, models.end()) << matrix;
    EXPECT_LE(before, m->nnz) << matrix;
    before = m->nnz;
  }
}

TEST(bench_suites, a_file_of_that_name_stands_for_its_stand_in) {
  std::string const folder = testing::TempDir() + "tulle_suites_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/enron.mtx") << "%%MatrixMarket matrix coordinate real general\n1 1 0\n";
  list remarks;
  list const all = suite("graphs", "dynamic", remarks, "cpu", folder);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(std::count(all.begin(), all.end(), "gen:like:enron"), 0);
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](auto const& one) { return one.ends_with("enron.mtx"); }),
            1);
}

TEST(bench_suites, real_takes_its_own_names_from_a_folder) {
  std::string const folder = testing::TempDir() + "tulle_real_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  char const* const text = "%%MatrixMarket matrix coordinate real general\n1 1 0\n";
  for (char const* const name : {"/xenon1.mtx", "/memplus.mtx", "/mine.mtx"})
    std::ofstream(folder + name) << text;
  list remarks;
  list const named = suite("real", "spmv", remarks, "cpu", folder);
  EXPECT_EQ(named, (list{folder + "/xenon1.mtx", folder + "/memplus.mtx"}));
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_NE(remarks[0].find("matrices of the suite are not in " + folder), std::string::npos);
  EXPECT_NE(remarks[0].find("cage11"), std::string::npos);
  EXPECT_EQ(remarks[0].find("xenon1"), std::string::npos);

  remarks.clear();
  EXPECT_EQ(suite("folder", "spmv", remarks, "cpu", folder).size(), 3U);
  EXPECT_TRUE(remarks.empty());
  ::setenv("TULLE_MATRICES", folder.c_str(), 1);
  EXPECT_EQ(suite("real", "spmv", remarks), named);
  ::unsetenv("TULLE_MATRICES");
  EXPECT_THROW(suite("real", "spmv", remarks), error);
  std::filesystem::remove(folder + "/xenon1.mtx");
  std::filesystem::remove(folder + "/memplus.mtx");
  EXPECT_THROW(suite("real", "spmv", remarks, "cpu", folder), error);
  std::filesystem::remove_all(folder);
}

// dia with shared stretches stores equal coefficients once: a suite of those would show nothing of
// what real matrices cost.
TEST(bench_suites, have_no_grids_of_constant_coefficients) {
  list remarks;
  for (char const* name : {"", "quick", "generated", "large"})
    for (char const* op : {"spmv", "spmm", "spgemm", "dynamic", "convert", "transpose", "add"})
      for (char const* backend : {"cpu", "cuda"}) {
        std::size_t grids = 0;
        for (std::string const& matrix : suite(name, op, remarks, backend)) {
          EXPECT_EQ(matrix.find("poisson"), std::string::npos) << name << " " << op;
          grids += matrix.find("diffusion") != std::string::npos;
        }
        EXPECT_GT(grids, 0U) << name << " " << op << " " << backend;
      }
}

} // namespace
} // namespace tulle::bench::suites_test
