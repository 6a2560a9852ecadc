// SPDX-License-Identifier: Apache-2.0

// Threads, instruction sets, policies.
#include "tulle/core/array.hpp"
#include "tulle/core/machine.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"

#include "support/expect.hpp"

#include <array>
#include <atomic>
#include <cfenv>
#include <climits>
#include <gtest/gtest.h>
#include <limits>
#include <omp.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tulle::test::run_test {
namespace {

TEST(parallel, runs_each_part_once) {
  for (int const parts : {1, 2, 3, 7, 100}) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(parts));
    parallel(parts, [&](int part) { ++seen[static_cast<std::size_t>(part)]; });
    for (auto const& s : seen)
      EXPECT_EQ(s, 1) << parts;
  }
}

// Calls so short that threads come late, or are left asleep while others are awake.
TEST(parallel, runs_each_part_of_short_calls_once) {
  constexpr int parts = 40;
  std::atomic<int> runs[parts] = {};
  for (int call = 1; call <= 20000; ++call) {
    parallel(parts, [&](int part) { runs[part].fetch_add(1, std::memory_order_relaxed); });
    for (int part = 0; part < parts; ++part)
      ASSERT_EQ(runs[part], call) << "part " << part;
  }
}

TEST(parallel, throws_the_exception_of_the_lowest_part_after_all_have_run) {
  for (int run = 0; run < 20; ++run) {
    std::atomic<int> ran = 0;
    EXPECT_TRUE(fails_with(errc::io, {"part 2"}, [&] {
      parallel(9, [&](int part) {
        ++ran;
        if (part >= 2)
          fail(errc::io, "part %d", part);
      });
    }));
    EXPECT_EQ(ran, 9);
  }
  EXPECT_TRUE(
      fails_with(errc::io, {"alone"}, [] { parallel(1, [](int) { fail(errc::io, "alone"); }); }));
  EXPECT_THROW(parallel(3, [](int) { throw 5; }), int);
}

TEST(parallel, works_inside_a_parallel_region) {
  for (int const levels : {1, 2}) {
    int const before = omp_get_max_active_levels();
    omp_set_max_active_levels(levels);
    std::atomic<int> ran = 0;
#pragma omp parallel num_threads(3)
    parallel(5, [&](int) { ++ran; });
    EXPECT_EQ(ran, 15);
    omp_set_max_active_levels(before);
  }
}

// A part that takes long holds one thread; the others' parts are done by whoever is there.
TEST(parallel, calls_at_the_same_time_wait_for_none_of_each_other) {
  std::atomic<int> begun = 0;
  std::atomic<bool> may_end = false;
  std::thread first([&] {
    parallel(3, [&](int) {
      ++begun;
      while (!may_end)
        std::this_thread::yield();
    });
  });
  while (begun == 0)
    std::this_thread::yield();
  for (int run = 0; run < 100; ++run) {
    std::atomic<int> ran = 0;
    parallel(8, [&](int) { ++ran; });
    EXPECT_EQ(ran, 8);
  }
  may_end = true;
  first.join();
}

TEST(parallel, more_parts_than_threads_may_be_are_run_all_the_same) {
  std::vector<std::atomic<int>> seen(3000);
  parallel(3000, [&](int part) { ++seen[static_cast<std::size_t>(part)]; });
  for (auto const& s : seen)
    EXPECT_EQ(s, 1);
}

TEST(parallel, threads_round_as_the_caller_does) {
  for (int const mode : {FE_UPWARD, FE_DOWNWARD, FE_TONEAREST}) {
    std::fesetround(mode);
    std::array<int, 7> found{};
    for (int run = 0; run < 50; ++run)
      parallel(7, [&](int part) {
        found[static_cast<std::size_t>(part)] += std::fegetround() != mode;
        std::this_thread::yield();
      });
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(found, (std::array<int, 7>{}));
  }
}

#ifdef __x86_64__
TEST(parallel, threads_flush_denormal_numbers_as_the_caller_does) {
  unsigned const before = _mm_getcsr();
  constexpr unsigned flush_and_zero = 0x8040;
  for (unsigned const mode : {flush_and_zero, 0u}) {
    _mm_setcsr((before & ~flush_and_zero) | mode);
    std::array<int, 7> found{};
    for (int run = 0; run < 50; ++run)
      parallel(7, [&](int part) {
        double volatile const least = std::numeric_limits<double>::min();
        double volatile const half = least / 2;
        found[static_cast<std::size_t>(part)] += (half == 0) != (mode == flush_and_zero);
        std::this_thread::yield();
      });
    _mm_setcsr(before);
    EXPECT_EQ(found, (std::array<int, 7>{}));
  }
}
#endif

#if !defined(TULLE_SANITIZED) // whose allocator has locks that a child may find taken for ever
// A fork has the caller's thread alone; it starts its own.
TEST(parallel, goes_on_in_a_forked_child) {
  std::atomic<int> ran = 0;
  parallel(4, [&](int) { ++ran; });
  array<double> kept(1 << 16); // memory that is used again has a lock, too
  std::atomic<bool> stop = false;
  std::thread busy([&] { // forks come at any time
    while (!stop) {
      parallel(3, [](int) {});
      array<double> const a(1 << 16);
    }
  });
  for (int run = 0; run < 30; ++run) {
    pid_t const child = fork();
    if (child == 0) {
      alarm(60);
      std::atomic<int> here = 0;
      for (int k = 0; k < 10; ++k) {
        parallel(4, [&](int) { ++here; });
        array<double> const a(1 << 16);
      }
      std::_Exit(here == 40 ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  busy.join();
}
#endif

TEST(parallel, split_deals_all_items_evenly) {
  for (std::size_t const n : {0ul, 1ul, 6ul, 7ul, 8ul, 1000ul, 1ul << 62})
    for (int const parts : {1, 2, 3, 7, 64}) {
      EXPECT_EQ(split(n, 0, parts), 0u);
      EXPECT_EQ(split(n, parts, parts), n);
      for (int p = 0; p < parts; ++p) {
        std::size_t const size = split(n, p + 1, parts) - split(n, p, parts);
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
      EXPECT_EQ(split_by_entries(ptr.data(), n, 0, parts), 0u);
      EXPECT_EQ(split_by_entries(ptr.data(), n, parts, parts), n);
      for (int p = 0; p < parts; ++p)
        EXPECT_LE(split_by_entries(ptr.data(), n, p, parts),
                  split_by_entries(ptr.data(), n, p + 1, parts));
    }
}

TEST(parallel, parts_for_is_between_one_and_the_threads_asked_for) {
  EXPECT_EQ(parts_for(0, 8), 1);
  EXPECT_EQ(parts_for(1'000'000'000, 8), 8);
  EXPECT_EQ(parts_for(1'000'000'000, 1), 1);
  EXPECT_EQ(parts_for(100, 8, 50), 3);
  EXPECT_EQ(parts_for(1'000'000'000, 0), default_threads());
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
  for (auto const& [name, text, expected] :
       {std::tuple{"TULLE_THREADS", "5", 5},
        {"OMP_NUM_THREADS", "3,2", 3},
        {"OMP_NUM_THREADS", "many", std::min(machine::here().cores, most_threads)}})
    EXPECT_EXIT(
        {
          unsetenv("TULLE_THREADS");
          unsetenv("OMP_NUM_THREADS");
          setenv(name, text, 1);
          int const n = default_threads(); // fewer than cores where the machine allows fewer
          std::_Exit(n == expected || (*text == 'm' && n >= 1 && n < expected) ? 0 : 1);
        },
        testing::ExitedWithCode(0), "")
        << name << "=" << text;
}

TEST(machine, refuses_threads_from_the_environment_that_are_no_number) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (char const* const text : {"0", "-3", "many", "4x", "", "1025", "99999999999999999999"})
    EXPECT_EXIT(
        {
          setenv("TULLE_THREADS", text, 1);
          bool const refused = static_cast<bool>(
              fails_with(errc::unsupported, {std::string("TULLE_THREADS=") + text, "1 to 1024"},
                         [] { default_threads(); }));
          std::_Exit(refused ? 0 : 1);
        },
        testing::ExitedWithCode(0), "")
        << text;
}

TEST(machine, refuses_absurd_threads) {
  for (int const n : {-1, most_threads + 1, 100000, INT_MAX, INT_MIN}) {
    EXPECT_TRUE(fails_with(errc::unsupported, {"threads is", std::to_string(n), "1024"}, [&] {
      parts_for(1000000, n);
    })) << n;
    EXPECT_TRUE(fails_with(errc::unsupported, {"limit_threads"}, [&] { limit_threads(n); }));
  }
}

TEST(machine, limits_threads) {
  EXPECT_EQ(limit_threads(2), 0);
  EXPECT_LE(default_threads(), 2);
  EXPECT_EQ(threads_of(7), 2);
  std::atomic<int> ran = 0;
  parallel(9, [&](int) { ++ran; });
  EXPECT_EQ(ran, 9);
  EXPECT_EQ(limit_threads(0), 2);
  EXPECT_EQ(threads_of(7), 7);
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
