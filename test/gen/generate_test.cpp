// SPDX-License-Identifier: Apache-2.0
//
// Generators: what each promises, the same matrix for every number of threads, and errors that say
// what was expected.
#include "tulle/core/error.hpp"
#include "tulle/gen/generate.hpp"

#include "gen/like.hpp"

#include <array>
#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <map>
#include <memory_resource>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tulle {
namespace {

using matrix = csr<double, std::int32_t, std::int32_t>;

std::size_t length(matrix const& a, std::int32_t i) {
  return static_cast<std::size_t>(a.row_ptr[static_cast<std::size_t>(i) + 1] -
                                  a.row_ptr[static_cast<std::size_t>(i)]);
}

/// f(row, column, value) for each entry.
template <class V, class I, class O, class F>
void each_entry(csr<V, I, O> const& a, F f) {
  for (I i = 0; i < a.rows; ++i)
    for (auto k = static_cast<std::size_t>(a.row_ptr[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(a.row_ptr[static_cast<std::size_t>(i) + 1]); ++k)
      f(i, a.col[k], a.val[k]);
}

template <class V, class I, class O>
std::map<std::pair<I, I>, V> entries(csr<V, I, O> const& a) {
  std::map<std::pair<I, I>, V> m;
  each_entry(a, [&](I i, I j, V v) { m[{i, j}] = v; });
  return m;
}

template <class V, class I, class O>
bool is_symmetric(csr<V, I, O> const& a) {
  auto const m = entries(a);
  for (auto const& [at, v] : m) {
    auto const other = m.find({at.second, at.first});
    if (other == m.end() || other->second != v)
      return false;
  }
  return true;
}

/// The code and message of the error that f throws.
template <class F>
std::pair<errc, std::string> error_of(F f) {
  try {
    f();
  } catch (error const& e) {
    return {e.code(), e.what()};
  }
  return {errc{}, "no error"};
}

std::pair<errc, std::string> refusal(std::string const& spec) {
  return error_of([&] { generate(spec); });
}

/// One of each family, small but for a few large enough that several threads work on them.
char const* const samples[] = {
    "poisson2d5:150",  "poisson2d9:100", "poisson3d7:30",        "poisson3d27:20",
    "fem:5000",        "rmat:12:16",     "circuit:30000",        "lattice:40000",
    "lp:50:20000:900", "banded:20000:3", "random:700:900:90000", "permutation:50000",
    "dense:300",       "dense:200:300",  "like:poisson3Da",      "like:memplus",
    "like:enron",      "like:lp_qap15",  "like:fidap037",        "like:internet",
};

TEST(generate, makes_valid_canonical_matrices) {
  for (char const* spec : samples) {
    auto const a = generate(spec);
    EXPECT_NO_THROW(a.validate()) << spec;
    EXPECT_TRUE(a.view().is_canonical()) << spec;
  }
}

TEST(generate, gives_the_same_matrix_for_every_number_of_threads) {
  for (char const* spec : samples) {
    auto const one = generate(spec, {.threads = 1});
    for (int threads : {2, 3, 7})
      EXPECT_EQ(generate(spec, {.threads = threads}), one) << spec << " with " << threads;
  }
}

TEST(generate, gives_another_matrix_for_another_seed) {
  for (std::string const spec : samples) {
    auto const a = generate(spec);
    auto const b = generate(spec + "@7");
    EXPECT_EQ(b, generate(spec + "@7")) << spec;
    EXPECT_EQ(a, generate(spec + "@0")) << spec;
    bool const fixed = spec.starts_with("poisson"); // nothing about it is random
    EXPECT_EQ(a == b, fixed) << spec;
  }
}

TEST(generate, never_makes_a_zero_and_stays_within_one) {
  for (char const* spec : {"fem:5000", "rmat:12:16", "dense:300", "like:memplus"}) {
    double sum = 0;
    std::size_t n = 0;
    each_entry(generate<float>(spec), [&](int, int, float v) {
      ASSERT_TRUE(v != 0 && v > -1 && v < 1) << spec;
      sum += v;
      ++n;
    });
    EXPECT_LT(std::abs(sum), 6 * std::sqrt(static_cast<double>(n))) << spec << ": values lean";
  }
}

TEST(generate, gives_one_pattern_for_all_types) {
  auto const a = generate("circuit:2000@3");
  auto const b = generate<std::complex<float>, std::int64_t, std::int64_t>("circuit:2000@3");
  auto const c = generate<float, std::int32_t, std::int64_t>("circuit:2000@3");
  ASSERT_EQ(a.col.size(), b.col.size());
  ASSERT_EQ(a.col, c.col);
  for (std::size_t k = 0; k < a.col.size(); ++k) {
    ASSERT_EQ(a.col[k], b.col[k]);
    ASSERT_NEAR(a.val[k], c.val[k], 1e-6);
    ASSERT_NEAR(a.val[k], b.val[k].real(), 1e-6);
    ASSERT_NE(b.val[k].imag(), b.val[k].real());
  }
}

/// Counts what is taken from it and not given back.
class counting_memory final : public std::pmr::memory_resource {
public:
  std::size_t held = 0;

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    held += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    held -= bytes;
    std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
  }
  bool do_is_equal(memory_resource const& other) const noexcept override { return this == &other; }
};

TEST(generate, keeps_the_result_and_nothing_else_in_the_memory_given) {
  for (char const* spec : samples) {
    counting_memory memory;
    {
      auto const a = generate(spec, {.threads = 3, .memory = &memory});
      EXPECT_GE(memory.held, a.bytes()) << spec;
      EXPECT_LE(memory.held, a.bytes() + 3 * 64) << spec;
    }
    EXPECT_EQ(memory.held, 0U) << spec;
  }
}

TEST(generate, takes_recipes_and_their_text) {
  EXPECT_EQ(gen::parse("gen:rmat:18:16@7"), gen::rmat(18, 16).seeded(7));
  EXPECT_EQ(gen::parse("dense:4"), gen::dense(4, 4));
  EXPECT_EQ(gen::text(gen::dense(4, 5)), "gen:dense:4:5");
  for (std::string const spec : samples) {
    EXPECT_EQ(gen::text(gen::parse(spec)), "gen:" + spec);
    EXPECT_EQ(gen::text(gen::parse(spec + "@12")), "gen:" + spec + "@12");
  }
  EXPECT_EQ(generate(gen::banded(50, 2).seeded(3)), generate("banded:50:2@3"));
}

TEST(generate, makes_empty_matrices) {
  for (char const* spec : {"poisson2d5:0", "poisson2d9:0", "poisson3d7:0", "poisson3d27:0", "fem:0",
                           "circuit:0", "lattice:0", "lp:0:0:0", "lp:0:9:3", "lp:3:9:0",
                           "banded:0:4", "random:0:5:0", "random:5:0:0", "random:3:3:0",
                           "permutation:0", "dense:0", "dense:0:7", "dense:7:0", "rmat:3:0"}) {
    auto const a = generate(spec);
    EXPECT_EQ(a.col.size(), 0U) << spec;
    EXPECT_EQ(a.row_ptr.size(), static_cast<std::size_t>(a.rows) + 1) << spec;
    EXPECT_NO_THROW(a.validate()) << spec;
  }
}

TEST(generate, makes_the_smallest_of_each_family) {
  for (char const* spec : {"poisson2d5:1", "poisson3d27:1", "poisson2d5:2", "fem:1", "circuit:1",
                           "circuit:2", "circuit:5", "rmat:0:3", "lp:1:1:1", "banded:1:9",
                           "random:1:1:1", "permutation:1", "permutation:2", "dense:1"}) {
    auto const a = generate(spec);
    EXPECT_GT(a.col.size(), 0U) << spec;
    EXPECT_TRUE(a.view().is_canonical()) << spec;
    EXPECT_NO_THROW(a.validate()) << spec;
  }
}

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

TEST(gen_errors, name_what_exists_and_what_was_meant) {
  auto const [code, message] = refusal("gen:poison2d5:3");
  EXPECT_EQ(code, errc::unsupported);
  EXPECT_NE(message.find("gen:poison2d5:3"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean poisson2d5?"), std::string::npos) << message;
  for (gen::generator_info const& g : gen::generators())
    EXPECT_NE(message.find(g.name), std::string::npos) << message;
  EXPECT_NE(refusal("like:webase").second.find("did you mean Webbase?"), std::string::npos);
  EXPECT_NE(refusal("like:qqqqqqqqqqqq").second.find("soc-LiveJournal1"), std::string::npos);
}

TEST(gen_errors, say_what_was_expected) {
  EXPECT_EQ(
      refusal("gen:poisson2d5:abc"),
      std::pair(errc::unsupported,
                std::string(
                    "gen:poisson2d5:abc: expected a number for N in gen:poisson2d5:N, not 'abc'")));
  EXPECT_EQ(refusal("rmat:18"),
            std::pair(errc::unsupported, std::string("rmat:18: expected gen:rmat:SCALE:PER_ROW")));
  for (char const* spec : {"",
                           "gen:",
                           "@",
                           "gen:@3",
                           "poisson2d5",
                           "poisson2d5:",
                           "poisson2d5:-3",
                           "poisson2d5:3.5",
                           "poisson2d5: 3",
                           "poisson2d5:3:",
                           "poisson2d5:3:4",
                           "rmat:3::4",
                           "rmat::",
                           "dense:1:2:3",
                           "dense:3@",
                           "dense:3@x",
                           "dense:3@-1",
                           "like",
                           "like:",
                           "DENSE:3",
                           "gen:gen:dense:3"})
    EXPECT_EQ(refusal(spec).first, errc::unsupported) << spec;
}

TEST(gen_errors, report_sizes_that_do_not_fit_before_allocating) {
  for (char const* spec : {"dense:100000",
                           "poisson3d27:1000000",
                           "poisson3d27:18446744073709551615",
                           "poisson2d5:46341",
                           "poisson3d7:700",
                           "poisson2d9:18446744073709551615",
                           "poisson2d5:99999999999999999999999",
                           "fem:200000000",
                           "rmat:31:1",
                           "rmat:64:1",
                           "rmat:18446744073709551615:1",
                           "rmat:20:3000",
                           "circuit:400000000",
                           "lattice:3000000000",
                           "lattice:600000000",
                           "lattice:18446744073709551615",
                           "lp:3000000000:5:1",
                           "lp:2:3000000000:1",
                           "lp:2000000:2000000:1000000",
                           "banded:100000:50000",
                           "banded:18446744073709551615:18446744073709551615",
                           "random:100000:100000:3000000000",
                           "random:3000000000:3:1",
                           "permutation:3000000000",
                           "dense:3000000000:0",
                           "dense:1@99999999999999999999"})
    EXPECT_EQ(refusal(spec).first, errc::overflow) << spec << ": " << refusal(spec).second;
  auto const wide = [](char const* spec) {
    return error_of([&] { generate<double, std::int64_t, std::int64_t>(spec); }).first;
  };
  EXPECT_EQ(wide("poisson3d27:1000000"), errc::overflow);
  EXPECT_EQ(wide("dense:10000000000"), errc::overflow);
  EXPECT_EQ(wide("banded:9223372036854775807:9223372036854775807"), errc::overflow);
  EXPECT_EQ(wide("random:9000000000:9000000000:3"), errc::overflow);
  EXPECT_EQ(
      error_of([] { generate<double, std::int32_t, std::int64_t>("dense:3000000000:1"); }).first,
      errc::overflow);
}

TEST(gen_errors, refuse_more_entries_than_places) {
  EXPECT_EQ(
      refusal("random:2:2:9"),
      std::pair(
          errc::bad_structure,
          std::string("gen:random:2:2:9: 9 entries, but 2 rows of 2 columns have places for 4")));
  EXPECT_EQ(refusal("random:0:5:1").first, errc::bad_structure);
  EXPECT_EQ(refusal("lp:5:5:7").first, errc::bad_structure);
}

TEST(gen_help, mentions_every_generator_and_model) {
  std::string const text = gen::help();
  for (gen::generator_info const& g : gen::generators())
    EXPECT_NE(text.find(std::string(g.name) + ":" + g.parameters), std::string::npos) << g.name;
  for (gen::model const& m : gen::models())
    EXPECT_NE(text.find(m.name), std::string::npos) << m.name;
}

} // namespace
} // namespace tulle
