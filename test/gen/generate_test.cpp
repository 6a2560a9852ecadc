// SPDX-License-Identifier: Apache-2.0

// Generators: the same matrix for every number of threads and every type, canonical and finite.
#include "gen/entries.hpp"

#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <memory_resource>
#include <string>

namespace tulle::test::generate_test {
namespace {

/// One of each family, small but for a few large enough that several threads work on them.
char const* const samples[] = {
    "poisson2d5:150",
    "poisson2d9:100",
    "poisson3d7:30",
    "poisson3d27:20",
    "diffusion2d5:150",
    "diffusion2d9:100",
    "diffusion3d7:30",
    "diffusion3d27:20",
    "diffusion2d5:140:jumps=10000",
    "diffusion3d27:19:jumps=2.5",
    "fem:5000",
    "fem:5000:20",
    "rmat:12:16",
    "circuit:30000",
    "lattice:40000",
    "lp:50:20000:900",
    "banded:20000:3",
    "random:700:900:90000",
    "permutation:50000",
    "dense:300",
    "dense:200:300",
    "like:poisson3Da",
    "like:memplus",
    "like:enron",
    "like:lp_qap15",
    "like:fidap037",
    "like:internet",
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
  EXPECT_EQ(gen::parse("diffusion2d5:9:jumps=1e4@7"), gen::diffusion2d5(9, 1e4).seeded(7));
  EXPECT_EQ(gen::text(gen::diffusion3d7(9, 1e6)), "gen:diffusion3d7:9:jumps=1e+06");
  for (std::string const spec : samples) {
    EXPECT_EQ(gen::text(gen::parse(spec)), "gen:" + spec);
    EXPECT_EQ(gen::text(gen::parse(spec + "@12")), "gen:" + spec + "@12");
  }
  EXPECT_EQ(generate(gen::banded(50, 2).seeded(3)), generate("banded:50:2@3"));
}

TEST(generate, makes_empty_matrices) {
  for (char const* spec : {"poisson2d5:0",   "poisson2d9:0",   "poisson3d7:0",
                           "poisson3d27:0",  "fem:0",          "diffusion2d5:0",
                           "diffusion2d9:0", "diffusion3d7:0", "diffusion3d27:0:jumps=9",
                           "circuit:0",      "lattice:0",      "lp:0:0:0",
                           "lp:0:9:3",       "lp:3:9:0",       "banded:0:4",
                           "random:0:5:0",   "random:5:0:0",   "random:3:3:0",
                           "permutation:0",  "dense:0",        "dense:0:7",
                           "dense:7:0",      "rmat:3:0"}) {
    auto const a = generate(spec);
    EXPECT_EQ(a.col.size(), 0U) << spec;
    EXPECT_EQ(a.row_ptr.size(), static_cast<std::size_t>(a.rows) + 1) << spec;
    EXPECT_NO_THROW(a.validate()) << spec;
  }
}

TEST(generate, makes_the_smallest_of_each_family) {
  for (char const* spec :
       {"poisson2d5:1", "poisson3d27:1", "poisson2d5:2", "fem:1", "circuit:1", "diffusion2d5:1",
        "diffusion2d9:1", "diffusion3d7:1", "diffusion3d27:1", "circuit:2", "circuit:5", "rmat:0:3",
        "lp:1:1:1", "banded:1:9", "random:1:1:1", "permutation:1", "permutation:2", "dense:1"}) {
    auto const a = generate(spec);
    EXPECT_GT(a.col.size(), 0U) << spec;
    EXPECT_TRUE(a.view().is_canonical()) << spec;
    EXPECT_NO_THROW(a.validate()) << spec;
  }
}

} // namespace
} // namespace tulle::test::generate_test
