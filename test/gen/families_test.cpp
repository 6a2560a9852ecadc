// SPDX-License-Identifier: Apache-2.0

// What each family of generators promises.
#include "gen/entries.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tulle::test::families_test {
namespace {

__extension__ typedef __int128 wide;

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

struct diffusion {
  char const* name;
  char const* constant; ///< the family of the same pattern with coefficients 1
  int dimensions;
  int n;
  bool is_box; ///< neighbours across corners, too
};
diffusion const diffusions[] = {{"diffusion2d5", "poisson2d5", 2, 40, false},
                                {"diffusion2d9", "poisson2d9", 2, 37, true},
                                {"diffusion3d7", "poisson3d7", 3, 19, false},
                                {"diffusion3d27", "poisson3d27", 3, 18, true}};

std::string spec_of(diffusion const& d, int n, std::string const& more = "") {
  return std::string(d.name) + ":" + std::to_string(n) + more;
}

template <class V>
void expect_dominant(std::string const& spec) {
  auto const a = generate<V>(spec);
  EXPECT_TRUE(is_symmetric(a)) << spec;
  EXPECT_TRUE(a.view().is_canonical()) << spec;
  // Sums of so few numbers of 53 bits within a factor of 2^33: exact in 128 bits.
  std::vector<wide> excess(static_cast<std::size_t>(a.rows));
  std::vector<bool> has_diagonal(static_cast<std::size_t>(a.rows));
  each_entry(a, [&](int i, int j, V v) {
    double const x = std::real(v);
    ASSERT_EQ(V(static_cast<float>(std::imag(v))), V(0)) << spec;
    ASSERT_EQ(x > 0, i == j) << spec << ": entry " << i << " " << j << " is " << x;
    ASSERT_LT(std::abs(x), 0x1p40);
    ASSERT_EQ(std::ldexp(x, 60), std::floor(std::ldexp(x, 60))) << spec;
    excess[static_cast<std::size_t>(i)] += static_cast<wide>(std::ldexp(x, 60));
    if (i == j)
      has_diagonal[static_cast<std::size_t>(i)] = true;
  });
  EXPECT_EQ(std::count(has_diagonal.begin(), has_diagonal.end(), true), a.rows);
  EXPECT_GE(*std::min_element(excess.begin(), excess.end()), 0) << spec;
  // The grid is connected and its first point is next to the outside: strictly there.
  EXPECT_GT(excess[0], static_cast<wide>(std::ldexp(.1, 60))) << spec << ": would be singular";
}

// Symmetric, irreducible, diagonally dominant, strictly in one row, diagonal positive: positive
// definite. So for the stored values of every type, not only for those before rounding.
TEST(gen_diffusion, is_a_symmetric_diagonally_dominant_m_matrix) {
  for (diffusion const& d : diffusions)
    for (char const* more : {"", "@5", ":jumps=10000", ":jumps=1e+09@2"})
      for (int n : {1, 2, d.n}) {
        expect_dominant<double>(spec_of(d, n, more));
        expect_dominant<float>(spec_of(d, n, more));
        if (n == 2)
          expect_dominant<std::complex<double>>(spec_of(d, n, more));
      }
}

TEST(gen_diffusion, has_the_pattern_of_poisson) {
  for (diffusion const& d : diffusions)
    for (int n : {1, 2, 5, d.n}) {
      auto const a = generate(spec_of(d, n));
      auto const p = generate(std::string(d.constant) + ":" + std::to_string(n));
      EXPECT_EQ(a.row_ptr, p.row_ptr) << d.name << " " << n;
      EXPECT_EQ(a.col, p.col) << d.name << " " << n;
    }
}

/// What of rows i and j is the same: their values one by one, or their diagonals.
template <class V>
bool are_alike(csr<V, std::int32_t, std::int32_t> const& a, int i, int j) {
  auto const begin = [&](int r) { return a.val.data() + a.row_ptr[static_cast<std::size_t>(r)]; };
  auto const diagonal = [&](int r) {
    auto const from = a.col.data() + a.row_ptr[static_cast<std::size_t>(r)];
    return begin(r)[std::find(from, from + a.row_ptr[static_cast<std::size_t>(r) + 1], r) - from];
  };
  return std::equal(begin(i), begin(i + 1), begin(j), begin(j + 1)) || diagonal(i) == diagonal(j);
}

TEST(gen_diffusion, has_no_equal_neighbouring_rows) {
  for (diffusion const& d : diffusions)
    for (char const* more : {"", "@9", ":jumps=10000"}) {
      auto const a = generate<float>(spec_of(d, d.n, more));
      for (int step : {1, d.n, d.n * d.n})
        for (int i = 0; i + step < a.rows; ++i)
          ASSERT_FALSE(are_alike(a, i, i + step)) << d.name << more << " " << i << " " << step;
    }
}

// Each entry but the diagonal is minus a mean of coefficients, those of neighbours are near each
// other, and all of them are spread out.
TEST(gen_diffusion, varies_smoothly) {
  for (diffusion const& d : diffusions) {
    auto const a = generate(spec_of(d, d.dimensions == 2 ? 200 : 40));
    std::vector<double> mean(static_cast<std::size_t>(a.rows)); // diagonals follow the coefficient
    each_entry(a, [&](int i, int j, double v) {
      if (i == j)
        mean[static_cast<std::size_t>(i)] = v;
    });
    double const most = *std::max_element(mean.begin(), mean.end());
    double const least = *std::min_element(mean.begin(), mean.end());
    EXPECT_GT(most / least, 4) << d.name;
    double step = 0;
    for (std::size_t i = 1; i < mean.size(); ++i)
      step += std::abs(mean[i] - mean[i - 1]) / (most - least) / static_cast<double>(mean.size());
    EXPECT_LT(step, .1) << d.name;
    EXPECT_GT(step, .005) << d.name;
  }
}

TEST(gen_diffusion, jumps_by_the_ratio_asked_for_in_half_of_its_blocks) {
  for (diffusion const& d : diffusions) {
    int const n = d.dimensions == 2 ? 320 : 64;
    auto const a = generate(spec_of(d, n));
    auto const b = generate(spec_of(d, n, ":jumps=10000"));
    std::size_t same = 0, larger = 0, between = 0;
    double least = 1, most = 1;
    for (std::size_t k = 0; k < a.val.size(); ++k) {
      double const ratio = b.val[k] / a.val[k];
      least = std::min(least, ratio);
      most = std::max(most, ratio);
      (ratio < 1 + 1e-9 ? same : ratio > 10000 * (1 - 1e-9) ? larger : between) += 1;
    }
    EXPECT_GT(least, 1 - 1e-9) << d.name;
    EXPECT_LT(most, 10000 * (1 + 1e-9)) << d.name;
    auto const all = static_cast<double>(a.val.size());
    EXPECT_NEAR(static_cast<double>(same) / all, .45, .1) << d.name;
    EXPECT_NEAR(static_cast<double>(larger) / all, .45, .1) << d.name;
    EXPECT_LT(static_cast<double>(between) / all, .25) << d.name;
    EXPECT_GT(between, 0U) << d.name;
    EXPECT_EQ(generate(spec_of(d, 5, ":jumps=1")), generate(spec_of(d, 5))) << d.name;
  }
}

// On paper: a cell with k has four or six faces to the outside, so the entry is 4 k or 6 k. In 2D a
// corner's cell couples it with two outer corners by k / 2 and with one by k, 2 k for each of four
// cells; in 3D with three by k / 4, three by k / 2 and one by k, 13 / 4 k for each of eight.
TEST(gen_diffusion, of_one_point_is_the_sum_of_its_couplings) {
  double const least = .16, most = 4; // of k
  for (std::string const seed : {"", "@1", "@2", "@3"})
    for (auto const& [name, factor] :
         {std::pair("diffusion2d5:1", 4.), std::pair("diffusion3d7:1", 6.),
          std::pair("diffusion2d9:1", 4 * 2.), std::pair("diffusion3d27:1", 8 * 3.25)}) {
      auto const a = generate(name + seed);
      ASSERT_EQ(a.val.size(), 1U);
      EXPECT_GT(a.val[0], factor * least) << name << seed;
      EXPECT_LT(a.val[0], factor * most) << name << seed;
    }
}

// Where each side has two cells, each is at the boundary along every axis: what its row lacks is k
// times so many faces.
TEST(gen_diffusion, of_few_points_couples_by_harmonic_means) {
  for (auto const& [name, axes] : {std::pair("diffusion2d5:2", 2), std::pair("diffusion3d7:2", 3)})
    for (std::string const more : {"", "@4", ":jumps=10000@1"}) {
      auto const m = entries(generate(name + more));
      std::vector<double> k(axes == 2 ? 4 : 8);
      for (auto const& [at, v] : m)
        k[static_cast<std::size_t>(at.first)] += v / axes;
      for (auto const& [at, v] : m) {
        double const here = k[static_cast<std::size_t>(at.first)];
        double const there = k[static_cast<std::size_t>(at.second)];
        if (at.first != at.second) {
          EXPECT_NEAR(-v, 2 / (1 / here + 1 / there), 1e-10 * (here + there)) << name << more;
        }
      }
    }
}

/// The mean of m(i, c) over the corners c across from i of those cells that have points i and j;
/// none where such a corner is outside.
std::optional<double> mean_across(std::map<std::pair<int, int>, double> const& m, int i, int j,
                                  int n, int dimensions) {
  int const from[] = {i % n, i / n % n, i / n / n}, to[] = {j % n, j / n % n, j / n / n};
  double sum = 0;
  int cells = 0;
  for (int corner = 0; corner < 1 << dimensions; ++corner) {
    int across = 0, stride = 1;
    bool has_both = true, is_inside = true;
    for (int x = 0; x < dimensions; ++x, stride *= n) {
      int const step = (corner >> x & 1) == 1 ? 1 : -1;
      has_both = has_both && (to[x] == from[x] || to[x] == from[x] + step);
      is_inside = is_inside && from[x] + step >= 0 && from[x] + step < n;
      across += (from[x] + step) * stride;
    }
    if (has_both && !is_inside)
      return {};
    if (has_both) {
      ++cells;
      sum += m.at({i, across});
    }
  }
  return sum / cells;
}

// The entry across a cell is minus its k, so those along faces and edges are means of such entries.
TEST(gen_diffusion, of_elements_couples_by_the_means_of_cells) {
  for (diffusion const& d : diffusions) {
    if (!d.is_box)
      continue;
    int const n = 18; // one block of a jump, and two more cells
    auto const m = entries(generate(spec_of(d, n, ":jumps=100")));
    std::size_t checked = 0;
    for (auto const& [at, v] : m) {
      if (at.first == at.second)
        continue;
      if (auto const mean = mean_across(m, at.first, at.second, n, d.dimensions)) {
        EXPECT_NEAR(v, *mean, 1e-9 * std::abs(v)) << d.name << " " << at.first << " " << at.second;
        ++checked;
      }
    }
    EXPECT_GT(checked, m.size() / 2) << d.name;
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
