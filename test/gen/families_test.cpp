// SPDX-License-Identifier: Apache-2.0

// What each family of generators promises.
#include "gen/entries.hpp"

#include <array>
#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tulle::test::families_test {
namespace {

struct stencil {
  char const* name;
  int dimensions;
  std::size_t reach; ///< how many steps along axes in all
  double diagonal;
};

TEST(gen_poisson, has_the_neighbours_that_the_stencil_says) {
  for (stencil const& s : {stencil{"poisson2d5", 2, 1, 4}, stencil{"poisson2d9", 2, 2, 8},
                           stencil{"poisson3d7", 3, 1, 6}, stencil{"poisson3d27", 3, 3, 26}})
    for (int n : {1, 2, 3, 6}) {
      auto const a = generate(std::string(s.name) + ":" + std::to_string(n));
      int const points = s.dimensions == 2 ? n * n : n * n * n;
      ASSERT_EQ(a.rows, points);
      ASSERT_EQ(a.cols, points);
      auto const got = entries(a);
      std::map<std::pair<int, int>, double> wanted;
      for (int i = 0; i < points; ++i)
        for (int j = 0; j < points; ++j) {
          int const dx = std::abs(i % n - j % n);
          int const dy = std::abs(i / n % n - j / n % n);
          int const dz = std::abs(i / n / n - j / n / n);
          if (dx <= 1 && dy <= 1 && dz <= 1 && static_cast<std::size_t>(dx + dy + dz) <= s.reach)
            wanted[{i, j}] = i == j ? s.diagonal : -1;
        }
      EXPECT_EQ(got, wanted) << s.name << " " << n;
    }
}

TEST(gen_poisson, is_symmetric_and_diagonally_dominant) {
  for (char const* spec : {"poisson2d5:9", "poisson2d9:8", "poisson3d7:5", "poisson3d27:5"}) {
    auto const a = generate(spec);
    EXPECT_TRUE(is_symmetric(a)) << spec;
    std::vector<double> excess(static_cast<std::size_t>(a.rows)); // diagonal less the others
    each_entry(a, [&](int i, int j, double v) {
      excess[static_cast<std::size_t>(i)] += i == j ? v : -std::abs(v);
    });
    bool strict = false;
    for (double const e : excess) {
      EXPECT_GE(e, 0) << spec;
      strict = strict || e > 0;
    }
    EXPECT_TRUE(strict) << spec << ": would be singular";
  }
}

TEST(gen_fem, is_made_of_full_aligned_blocks) {
  auto const a = generate("fem:6001");
  ASSERT_EQ(a.rows, 6003);
  auto const m = entries(a);
  std::set<std::pair<int, int>> blocks;
  for (auto const& [at, v] : m)
    blocks.insert({at.first / 3, at.second / 3});
  EXPECT_EQ(m.size(), 9 * blocks.size());
  for (int i = 0; i < a.rows / 3; ++i)
    ASSERT_TRUE(blocks.contains({i, i}));
}

TEST(gen_fem, is_symmetric_with_about_sixty_a_row) {
  auto const a = generate("fem:9000");
  EXPECT_TRUE(is_symmetric(a));
  auto const c = generate<std::complex<double>, std::int64_t>("fem:600");
  EXPECT_TRUE(is_symmetric(c));
  EXPECT_NEAR(static_cast<double>(a.col.size()) / a.rows, 60, 5);
}

TEST(gen_fem, keeps_within_its_reach) {
  auto const a = generate("fem:9000:20");
  for (auto const& [at, v] : entries(a))
    ASSERT_LE(std::abs(at.first / 3 - at.second / 3), 22); // runs of three from 20 on
  EXPECT_EQ(gen::text(gen::parse("fem:9000:20")), "gen:fem:9000:20");
  EXPECT_EQ(gen::text(gen::parse("fem:9000")), "gen:fem:9000");
}

TEST(gen_rmat, has_a_power_of_two_of_rows_and_few_very_long_ones) {
  auto const a = generate("rmat:12:16");
  EXPECT_EQ(a.rows, 4096);
  EXPECT_EQ(a.cols, 4096);
  EXPECT_LE(a.col.size(), 4096U * 16);
  EXPECT_GE(a.col.size(), 4096U * 12);
  std::size_t longest = 0;
  for (int i = 0; i < a.rows; ++i)
    longest = std::max(longest, length(a, i));
  EXPECT_GT(longest, 16U * 20);
  // The quarters of the matrix are hit as the four probabilities say, less the duplicates.
  double quarter[4] = {};
  each_entry(a, [&](int i, int j, double) { quarter[i / 2048 * 2 + j / 2048] += 1; });
  auto const all = static_cast<double>(a.col.size());
  EXPECT_NEAR(quarter[0] / all, .57, .06);
  EXPECT_NEAR(quarter[1] / all, .19, .03);
  EXPECT_NEAR(quarter[2] / all, .19, .03);
  EXPECT_NEAR(quarter[3] / all, .05, .03);
}

TEST(gen_circuit, has_three_dense_rows_and_columns_and_a_full_diagonal) {
  auto const a = generate("circuit:30000");
  std::vector<std::size_t> in_col(30000);
  std::size_t diagonal = 0;
  each_entry(a, [&](int i, int j, double) {
    ++in_col[static_cast<std::size_t>(j)];
    diagonal += i == j;
  });
  EXPECT_EQ(diagonal, 30000U);
  int dense_rows = 0;
  int dense_cols = 0;
  for (int i = 0; i < a.rows; ++i) {
    dense_rows += length(a, i) > 9500;
    dense_cols += in_col[static_cast<std::size_t>(i)] > 9500;
    EXPECT_TRUE(length(a, i) > 9500 || length(a, i) <= 11);
  }
  EXPECT_EQ(dense_rows, 3);
  EXPECT_EQ(dense_cols, 3);
  EXPECT_NEAR(static_cast<double>(a.col.size()) / a.rows, 7, .5);
}

TEST(gen_lattice, has_exactly_four_a_row_and_no_diagonal) {
  for (int rows : {1, 9, 10, 12, 50, 997, 500000}) {
    auto const a = generate(gen::lattice(static_cast<std::uint64_t>(rows)));
    auto const [first, second] = gen::lattice_sides(static_cast<std::uint64_t>(rows));
    ASSERT_EQ(static_cast<std::uint64_t>(a.rows), first * second);
    EXPECT_GE(first, 3U);
    EXPECT_GE(second, 3U);
    EXPECT_LT(std::abs(a.rows - std::max(9, rows)), 3 + rows / 100) << rows;
    for (int i = 0; i < a.rows; ++i)
      ASSERT_EQ(length(a, i), 4U);
    each_entry(a, [&](int i, int j, double) { ASSERT_NE(i, j); });
    if (rows < 1000) {
      EXPECT_TRUE(is_symmetric(a)) << rows;
    }
  }
  EXPECT_EQ(generate("lattice:500000").rows, 500000); // 625 x 800
}

TEST(gen_lp, has_the_average_asked_for) {
  auto const a = generate("lp:2000:50000:100");
  EXPECT_EQ(a.rows, 2000);
  EXPECT_EQ(a.cols, 50000);
  EXPECT_NEAR(static_cast<double>(a.col.size()) / 2000, 100, 8);
  std::size_t longest = 0;
  for (int i = 0; i < a.rows; ++i) {
    ASSERT_GE(length(a, i), 1U);
    longest = std::max(longest, length(a, i));
  }
  EXPECT_GT(longest, 500U);
}

TEST(gen_banded, fills_its_band_and_nothing_else) {
  for (int width : {0, 1, 3, 19, 20, 500}) {
    auto const a = generate(gen::banded(20, static_cast<std::uint64_t>(width)));
    auto const m = entries(a);
    std::size_t wanted = 0;
    for (int i = 0; i < 20; ++i)
      for (int j = 0; j < 20; ++j)
        wanted += std::abs(i - j) <= width;
    EXPECT_EQ(m.size(), wanted);
    for (auto const& [at, v] : m)
      EXPECT_LE(std::abs(at.first - at.second), width);
    EXPECT_TRUE(is_symmetric(a));
  }
}

TEST(gen_random, has_exactly_as_many_entries_as_asked) {
  for (auto [rows, cols, nnz] : {std::array{700, 900, 90000},
                                 {1, 1000, 400},
                                 {1000, 1, 400},
                                 {30, 30, 900},
                                 {30, 30, 899},
                                 {100000, 100000, 5}}) {
    auto const a =
        generate(gen::random(static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(cols),
                             static_cast<std::uint64_t>(nnz)));
    EXPECT_EQ(a.rows, rows);
    EXPECT_EQ(a.cols, cols);
    EXPECT_EQ(a.col.size(), static_cast<std::size_t>(nnz));
    EXPECT_TRUE(a.view().is_canonical());
  }
}

TEST(gen_random, is_spread_evenly) {
  auto const a = generate("random:100:100:1000");
  double chi_squared =
      0; // over 25 tiles of 40 expected entries: 24 degrees of freedom, above 60 once in 10^5
  std::map<int, double> tile;
  each_entry(a, [&](int i, int j, double) { tile[i / 20 * 5 + j / 20] += 1; });
  for (int t = 0; t < 25; ++t)
    chi_squared += (tile[t] - 40) * (tile[t] - 40) / 40;
  EXPECT_LT(chi_squared, 60);
  EXPECT_GT(chi_squared, 3); // not a pattern
}

TEST(gen_permutation, has_one_one_in_each_row_and_column) {
  for (int n : {1, 2, 3, 10, 4096, 12345}) {
    auto const a = generate(gen::permutation(static_cast<std::uint64_t>(n)));
    std::set<int> seen(a.col.begin(), a.col.end());
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(length(a, i), 1U);
      ASSERT_EQ(a.val[static_cast<std::size_t>(i)], 1);
    }
  }
}

TEST(gen_dense, has_every_entry) {
  auto const a = generate("dense:7:9");
  EXPECT_EQ(a.rows, 7);
  EXPECT_EQ(a.cols, 9);
  EXPECT_EQ(entries(a).size(), 63U);
  EXPECT_EQ(generate("dense:7").cols, 7);
}

} // namespace
} // namespace tulle::test::families_test
