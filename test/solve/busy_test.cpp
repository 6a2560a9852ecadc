// SPDX-License-Identifier: Apache-2.0

// A machine whose processors have other work: threads that spin while they wait for others made a
// solver take two hundred times as long there as one thread.
#include "tulle/gen/generate.hpp"
#include "tulle/solve/cg.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace tulle::test::busy_test {
namespace {

double seconds(cpu const& w, csr<double> const& a) {
  std::vector<double> const b(static_cast<std::size_t>(a.rows), 1);
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    std::vector<double> x(b.size());
    auto const start = std::chrono::steady_clock::now();
    cg(w, a, b, x, {.most_iterations = 100});
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

TEST(busy_processors, do_not_make_a_solver_wait_for_threads_that_do_not_come) {
#ifdef TULLE_SANITIZED
  GTEST_SKIP() << "not optimised";
#endif
  csr<double> const a = generate("poisson2d5:100");
  std::atomic<bool> stop = false;
  std::vector<std::thread> others;
  for (unsigned k = 0; k < 2 * std::thread::hardware_concurrency(); ++k)
    others.emplace_back([&] {
      while (!stop)
        continue;
    });
  double const alone = seconds({.threads = 1}, a);
  double const shared = seconds({}, a);
  stop = true;
  for (std::thread& t : others)
    t.join();
  EXPECT_LT(shared, 10 * alone + 0.1) << "one thread takes " << alone;
}

} // namespace
} // namespace tulle::test::busy_test
