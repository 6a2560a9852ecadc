// SPDX-License-Identifier: Apache-2.0

// Threads, instruction sets, policies.
#include "tulle/core/machine.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"

#include "support/expect.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <omp.h>

namespace tulle::test::run_test {
namespace {

TEST(parallel, runs_each_part_once) {
  for (int const parts : {1, 2, 3, 7, 100}) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(parts));
    detail::parallel(parts, [&](int part) { ++seen[static_cast<std::size_t>(part)]; });
    for (auto const& s : seen)
      EXPECT_EQ(s, 1) << parts;
  }
}

TEST(parallel, throws_the_exception_of_the_lowest_part_after_all_have_run) {
  for (int run = 0; run < 20; ++run) {
    std::atomic<int> ran = 0;
    EXPECT_TRUE(fails_with(errc::io, {"part 2"}, [&] {
      detail::parallel(9, [&](int part) {
        ++ran;
        if (part >= 2)
          fail(errc::io, "part %d", part);
      });
    }));
    EXPECT_EQ(ran, 9);
  }
  EXPECT_TRUE(fails_with(errc::io, {"alone"},
                         [] { detail::parallel(1, [](int) { fail(errc::io, "alone"); }); }));
  EXPECT_THROW(detail::parallel(3, [](int) { throw 5; }), int);
}

TEST(parallel, works_inside_a_parallel_region) {
  for (int const levels : {1, 2}) {
    int const before = omp_get_max_active_levels();
    omp_set_max_active_levels(levels);
    std::atomic<int> ran = 0;
#pragma omp parallel num_threads(3)
    detail::parallel(5, [&](int) { ++ran; });
    EXPECT_EQ(ran, 15);
    omp_set_max_active_levels(before);
  }
}

TEST(parallel, split_deals_all_items_evenly) {
  for (std::size_t const n : {0ul, 1ul, 6ul, 7ul, 8ul, 1000ul, 1ul << 62})
    for (int const parts : {1, 2, 3, 7, 64}) {
      EXPECT_EQ(detail::split(n, 0, parts), 0u);
      EXPECT_EQ(detail::split(n, parts, parts), n);
      for (int p = 0; p < parts; ++p) {
        std::size_t const size = detail::split(n, p + 1, parts) - detail::split(n, p, parts);
        EXPECT_GE(size, n / static_cast<std::size_t>(parts));
        EXPECT_LE(size, n / static_cast<std::size_t>(parts) + 1);
      }
    }
}

TEST(parallel, split_by_entries_covers_every_row_once) {
  std::vector<std::vector<int>> const pointers = {
      {0}, {0, 0, 0}, {0, 0, 9, 9}, {0, 3, 3, 3, 50, 51, 51}, {0, 1, 2, 3, 4, 5, 6, 7}};
  for (auto const& ptr : pointers)
    for (int const parts : {1, 2, 3, 7, 20}) {
      std::size_t const n = ptr.size() - 1;
      EXPECT_EQ(detail::split_by_entries(ptr.data(), n, 0, parts), 0u);
      EXPECT_EQ(detail::split_by_entries(ptr.data(), n, parts, parts), n);
      for (int p = 0; p < parts; ++p)
        EXPECT_LE(detail::split_by_entries(ptr.data(), n, p, parts),
                  detail::split_by_entries(ptr.data(), n, p + 1, parts));
    }
}

TEST(parallel, parts_for_is_between_one_and_the_threads_asked_for) {
  EXPECT_EQ(detail::parts_for(0, 8), 1);
  EXPECT_EQ(detail::parts_for(1'000'000'000, 8), 8);
  EXPECT_EQ(detail::parts_for(1'000'000'000, 1), 1);
  EXPECT_EQ(detail::parts_for(100, 8, 50), 3);
  EXPECT_EQ(detail::parts_for(1'000'000'000, 0), default_threads());
  EXPECT_GE(default_threads(), 1);
}

TEST(machine, names_every_set_and_runs_the_active_one) {
  EXPECT_TRUE(has(isa::baseline));
  EXPECT_TRUE(has(active_isa()));
  EXPECT_STREQ(name(isa::baseline), "baseline");
  EXPECT_STREQ(name(isa::avx2), "avx2");
  EXPECT_STREQ(name(isa::avx512), "avx512");
  if (has(isa::avx512)) {
    EXPECT_TRUE(has(isa::avx2));
  }
}

// In a child process, since the choice is made once.
TEST(machine, refuses_a_set_that_is_none) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("TULLE_ISA", "mmx", 1);
        bool const refused = static_cast<bool>(
            fails_with(errc::unsupported, {"TULLE_ISA=mmx", "baseline", "avx2", "avx512"},
                       [] { active_isa(); }));
        std::_Exit(refused ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(machine, takes_threads_from_the_environment) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (auto const& [text, expected] : {std::pair{"5", 5}, {"0", 0}, {"-3", 0}, {"many", 0}})
    EXPECT_EXIT(
        {
          setenv("TULLE_THREADS", text, 1);
          int const wanted = expected ? expected : omp_get_max_threads();
          std::_Exit(default_threads() == wanted ? 0 : 1);
        },
        testing::ExitedWithCode(0), "")
        << text;
}

TEST(machine, is_described) {
  machine const& m = machine::here();
  EXPECT_GE(m.cores, 1);
  EXPECT_GT(m.memory, std::size_t{64} << 20);
  EXPECT_EQ(&m, &machine::here());
}

TEST(where, takes_what_a_policy_says) {
  where const a;
  EXPECT_EQ(a.backend, backend::cpu);
  EXPECT_EQ(a.threads, 0);
  EXPECT_EQ(a.workspace_limit, SIZE_MAX);
  using namespace literals;
  where const b = cpu{.threads = 3, .workspace_limit = 4_GiB, .exact = false};
  EXPECT_EQ(b.backend, backend::cpu);
  EXPECT_EQ(b.threads, 3);
  EXPECT_EQ(b.workspace_limit, std::size_t{4} << 30);
  EXPECT_FALSE(b.exact);
  where const c = reference{};
  EXPECT_EQ(c.backend, backend::reference);
  EXPECT_EQ(c.threads, 1);
  EXPECT_EQ(3_KiB + 2_MiB, 3072u + 2097152u);
  EXPECT_STREQ(name(backend::opencl), "opencl");
  EXPECT_STREQ(name(backend::reference), "reference");
}

} // namespace
} // namespace tulle::test::run_test
