// SPDX-License-Identifier: Apache-2.0

// What every operation promises of memory: it keeps to its workspace_limit or says what it wants,
// takes what is large from the policy's memory, and where memory ends the error is typed and
// everything is as before.
#include "tulle/gen/generate.hpp"
#include "tulle/op/optimize.hpp"
#include "tulle/op/spmm.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/operations.hpp"
#include "support/zoo.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <optional>

namespace tulle::test::limits_test {
namespace {

csr<double> const& matrix() {
  static csr<double> const a = rough(generate("fem:200"));
  return a;
}
std::vector<operation> const& operations() {
  static std::vector<operation> const all = every_operation(matrix());
  return all;
}

/// Bytes that lived at once beyond operands and result; nothing where the operation failed as it
/// should.
std::optional<std::size_t> workspace_of(operation const& op, int threads, std::size_t limit) {
  tracking_memory memory;
  std::size_t before = 0;
  std::optional<std::size_t> extra;
  try {
    std::size_t const result =
        op.run(cpu{.threads = threads, .memory = &memory, .workspace_limit = limit}, [&] {
          memory.restart();
          before = memory.outstanding();
        });
    std::size_t const most = memory.peak() - before;
    extra = most > result ? most - result : 0;
  } catch (error const& e) {
    EXPECT_EQ(e.code(), errc::out_of_memory) << op.name << ": " << e.what();
    EXPECT_NE(std::string(e.what()).find("bytes"), std::string::npos) << op.name << e.what();
  }
  EXPECT_EQ(memory.outstanding(), 0u) << op.name;
  return extra;
}

TEST(limits, every_operation_keeps_to_its_workspace_limit_or_says_what_it_wants) {
  std::size_t kept = 0;
  for (operation const& op : operations())
    for (int const threads : {1, 3}) {
      auto const most = workspace_of(op, threads, SIZE_MAX);
      ASSERT_TRUE(most) << op.name;
      for (std::size_t const limit : {4 * *most + 400000, *most, *most / 2, *most / 5, *most / 20,
                                      std::size_t(100), std::size_t(0)})
        if (auto const extra = workspace_of(op, threads, limit)) {
          EXPECT_LE(*extra, limit) << op.name << ", " << threads << " threads";
          ++kept;
        } else {
          EXPECT_LT(limit, 4 * *most + 400000) << op.name; // enough for the result too
        }
    }
  EXPECT_GT(kept, 2 * operations().size());
}

// What does not come from the policy's memory is small and does not grow with the matrix.
TEST(limits, what_is_large_comes_from_the_memory_of_the_policy) {
  if (!counts_global_allocations())
    GTEST_SKIP() << "operator new is the sanitizer's";
  for (operation const& op : operations()) {
    tracking_memory memory;
    cpu const where{.threads = 1, .memory = &memory};
    op.run(where, [] {}); // what is found once a process
    op.run(where, restart_global_bytes);
    std::size_t const others = global_bytes();
    bool const is_search = op.name == "recommend" || op.name == "optimize"; // of many layouts
    EXPECT_LT(others, is_search ? 200000u : 20000u) << op.name;
  }
}

/// Runs an operation until none of its allocations fails, each time with one more that does not.
template <class Arm>
void walk(operation const& op, Arm arm) {
  for (std::size_t k = 1;; k += 1 + k / 8) {
    tracking_memory memory;
    bool done = false;
    try {
      arm(op, memory, k);
      done = true;
    } catch (error const& e) {
      failing_new::stop();
      EXPECT_EQ(e.code(), errc::out_of_memory) << op.name << " " << k << ": " << e.what();
    } catch (std::exception const& e) {
      failing_new::stop();
      ADD_FAILURE() << op.name << " " << k << ": " << e.what();
    }
    failing_new::stop();
    EXPECT_EQ(memory.outstanding(), 0u) << op.name << " " << k;
    if (done || testing::Test::HasFailure())
      return;
  }
}

TEST(limits, an_allocation_of_the_policy_that_fails_is_a_typed_error) {
  csr<double> const before = matrix();
  for (operation const& op : every_operation(generate("poisson2d5:7")))
    walk(op, [](operation const& o, tracking_memory& memory, std::size_t k) {
      o.run(cpu{.threads = 1, .memory = &memory}, [&] { memory.fail_at(k); });
    });
  EXPECT_EQ(matrix(), before);
}

TEST(limits, an_operator_new_that_fails_is_a_typed_error) {
  if (!counts_global_allocations())
    GTEST_SKIP() << "operator new is the sanitizer's";
  for (operation const& op : every_operation(generate("poisson2d5:7")))
    walk(op, [](operation const& o, tracking_memory& memory, std::size_t k) {
      std::optional<failing_new> failing;
      o.run(cpu{.threads = 1, .memory = &memory}, [&] { failing.emplace(k); });
    });
}

TEST(limits, optimize_leaves_layouts_out_that_pass_the_limit) {
  csr<double> const& a = matrix();
  optimize_options const o{.among = {layout(format::ell), layout(format::coo)}};
  optimized const all = optimize(a, o);
  ASSERT_EQ(all.format(), format::ell);
  std::size_t const limit = a.bytes() * 3 / 2; // padded rows take more
  optimized const some = optimize(a, o, cpu{.workspace_limit = limit});
  EXPECT_EQ(some.format(), format::coo);
  EXPECT_EQ(some.considered().size(), 2u);
  EXPECT_LE(some.bytes(), limit);
  EXPECT_NE(some.why().find("bytes of workspace wanted"), std::string::npos) << some.why();
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"optimize", "the limit is 1000"},
                         [&] { optimize(a, {}, cpu{.workspace_limit = 1000}); }));
}

TEST(limits, factors_do_not_touch_an_alpha_of_zero) {
  csr<double> const& a = matrix();
  double const inf = std::numeric_limits<double>::infinity();
  auto const n = static_cast<std::size_t>(a.rows);
  std::vector<double> const x(2 * n, 1);
  std::vector<double> y(2 * n, 3);
  auto const of = [&](std::vector<double>& v) { return vector_view<double>(v.data(), n); };
  auto const from = vector_view<double const>(x.data(), n);
  spmv(0.0, scaled(a, inf), from, 1.0, of(y));
  spmv(0.0, scaled(transposed(a), std::nan("")), from, 1.0, of(y));
  spmm(0.0, scaled(a, inf), row_major(x.data(), n, 2), 1.0, row_major(y.data(), n, 2));
  EXPECT_EQ(y, std::vector<double>(2 * n, 3));
}

} // namespace
} // namespace tulle::test::limits_test
