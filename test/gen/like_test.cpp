// SPDX-License-Identifier: Apache-2.0

// Stand-ins for matrices of the literature: gen:like:NAME.
#include "gen/entries.hpp"
#include "gen/like.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <utility>

namespace tulle::test::like_test {
namespace {

TEST(gen_like, has_the_row_lengths_of_every_model) {
  for (gen::model const& m : gen::models()) {
    auto const lengths = gen::row_lengths(m, 0, {});
    ASSERT_EQ(lengths.size(), m.rows) << m.name;
    std::uint64_t sum = 0;
    std::uint32_t shortest = UINT32_MAX;
    std::uint32_t longest = 0;
    for (std::uint32_t const n : lengths) {
      sum += n;
      shortest = std::min(shortest, n);
      longest = std::max(longest, n);
    }
    EXPECT_EQ(sum, m.nnz) << m.name;
    EXPECT_EQ(shortest, m.min) << m.name;
    EXPECT_EQ(longest, m.max) << m.name;
  }
}

TEST(gen_like, matches_the_smaller_models_exactly) {
  int made = 0;
  for (gen::model const& m : gen::models()) {
    if (m.nnz > 3000000)
      continue;
    ++made;
    auto const a = generate(gen::like(m.name).seeded(5));
    EXPECT_NO_THROW(a.validate()) << m.name;
    EXPECT_TRUE(a.view().is_canonical()) << m.name;
    EXPECT_EQ(static_cast<std::uint32_t>(a.rows), m.rows) << m.name;
    EXPECT_EQ(static_cast<std::uint32_t>(a.cols), m.cols) << m.name;
    EXPECT_EQ(a.col.size(), m.nnz) << m.name;
    std::size_t shortest = SIZE_MAX;
    std::size_t longest = 0;
    for (int i = 0; i < a.rows; ++i) {
      shortest = std::min(shortest, length(a, i));
      longest = std::max(longest, length(a, i));
    }
    EXPECT_EQ(shortest, m.min) << m.name;
    EXPECT_EQ(longest, m.max) << m.name;
  }
  EXPECT_GT(made, 20);
}

TEST(gen_like, covers_every_matrix_of_the_papers_by_all_its_names) {
  for (char const* name : {"2cubes_sphere",
                           "ASIC_680k",
                           "Boyd2",
                           "Cage12",
                           "Circuit",
                           "Circuit5M",
                           "Dc2",
                           "Dense",
                           "Economics",
                           "Epidemiology",
                           "Eu-2005",
                           "FEM/Accelerator",
                           "FEM/Cantilever",
                           "FEM/Harbor",
                           "FEM/Ship",
                           "FEM/Spheres",
                           "Filter3D",
                           "FullChip",
                           "Ga41As41H72",
                           "Hood",
                           "In-2004",
                           "Ins2",
                           "LP",
                           "M133-b3",
                           "Majorbasis",
                           "Mario002",
                           "Mip1",
                           "Mono_500Hz",
                           "Offshore",
                           "Patents_main",
                           "Poisson3Da",
                           "Protein",
                           "QCD",
                           "Rajat21",
                           "Si41Ge41H72",
                           "Transient",
                           "Webbase",
                           "Wind Tunnel",
                           "fidap037",
                           "s3rmt3m3",
                           "bcsstk17",
                           "memplus",
                           "lhr34",
                           "bcsstk32",
                           "s3dkt3m2",
                           "RM07R",
                           "Emilia_923",
                           "cage14",
                           "cage15",
                           "adaptive",
                           "lp_qap15",
                           "rhpentium_new",
                           "andrews",
                           "tbdlinux",
                           "nd24k",
                           "nug30",
                           "stanford_berkeley",
                           "ldoor",
                           "wikipedia-2005",
                           "wikipedia-2006",
                           "wikipedia-2007",
                           "amazon-2008",
                           "cnr-2000",
                           "dblp-2010",
                           "enron",
                           "eu-2005",
                           "flickr",
                           "hollywood-2009",
                           "in-2004",
                           "indochina-2004",
                           "internet",
                           "kron-18",
                           "ljournal-2008",
                           "rail4284",
                           "soc-LiveJournal1",
                           "webbase-1M"})
    EXPECT_LT(gen::find_model(name), gen::models().size()) << name;
  EXPECT_EQ(gen::like("Webbase"), gen::like("webbase-1m"));
  EXPECT_EQ(gen::like("fem cantilever"), gen::like("CANT"));
  EXPECT_EQ(gen::parse("gen:like:FEM/Ship@3"), gen::like("shipsec1").seeded(3));
}

TEST(gen_like, gives_each_name_to_one_model) {
  auto const all = gen::models();
  for (std::size_t k = 0; k < all.size(); ++k)
    EXPECT_EQ(gen::find_model(all[k].name), k) << all[k].name;
}

TEST(gen_like, places_fem_columns_in_blocks_near_the_diagonal) {
  auto const a = generate("like:s3rmt3m3"); // blocks of 6
  std::map<std::pair<int, int>, int> blocks;
  double far = 0;
  each_entry(a, [&](int i, int j, double) {
    ++blocks[{i / 6, j / 6}];
    far += std::abs(i - j);
  });
  double full = 0;
  for (auto const& [at, n] : blocks)
    full += n == 36;
  EXPECT_GT(full / static_cast<double>(blocks.size()), .9);
  EXPECT_LT(far / static_cast<double>(a.col.size()), .1 * a.rows);
}

} // namespace
} // namespace tulle::test::like_test
