// SPDX-License-Identifier: Apache-2.0

// What a call costs where there is next to nothing to multiply. Before one part ran on the caller's
// thread without allocating, a planned call took 530 ns and an unplanned one 1030.
#include "tulle/op/spmv.hpp"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <vector>

namespace tulle::test::spmv_overhead_test {
namespace {

/// The least nanoseconds per call of many short runs: others at work make some longer, not all.
template <class F>
double least(F const& call) {
  using clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int run = 0; run < 3000; ++run) {
    auto const start = clock::now();
    for (int k = 0; k < 100; ++k)
      call();
    best = std::min(best, std::chrono::duration<double, std::nano>(clock::now() - start).count());
  }
  return best / 100;
}

TEST(spmv_overhead, of_a_tiny_matrix_is_a_fraction_of_a_microsecond) {
#if !defined(NDEBUG) || defined(TULLE_SANITIZED)
  GTEST_SKIP() << "not optimised";
#endif
  csr<double> const a(
      10, 10, {0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30},
      {0, 4, 8, 1, 5, 9, 2, 3, 6, 3, 4, 7, 4, 5, 8, 0, 5, 9, 1, 2, 6, 2, 7, 8, 3, 5, 8, 4, 6, 9},
      array<double>(30, 1.5));
  std::vector<double> const x(10, 2);
  std::vector<double> y(10);
  spmv_plan plan(a);
  EXPECT_LT(least([&] { spmv(plan, 1.0, a, x, 0.0, y); }), 200);
  EXPECT_EQ(y, std::vector<double>(10, 9.0));
  EXPECT_LT(least([&] { spmv(1.0, a, x, 0.0, y); }), 250);
}

} // namespace
} // namespace tulle::test::spmv_overhead_test
