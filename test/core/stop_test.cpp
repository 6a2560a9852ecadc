// SPDX-License-Identifier: Apache-2.0

// Work that another thread stops.
#include "tulle/core/stop.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/add.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/optimize.hpp"
#include "tulle/op/spgemm.hpp"
#include "tulle/op/spmv.hpp"
#include "tulle/op/transpose.hpp"

#include "support/expect.hpp"

#include <gtest/gtest.h>
#include <thread>

namespace tulle::test::stop_test {
namespace {

TEST(stopping, ends_what_makes_a_new_matrix_and_nothing_else) {
  auto const a = generate("poisson2d5:20");
  any_matrix const any(a);
  std::stop_source stop;
  stop.request_stop();
  std::vector<double> const x(400, 1.0);
  std::vector<double> y(400);
  for (int const threads : {1, 3}) {
    cpu const w{.threads = threads};
    stop_scope const scope(stop.get_token());
    auto const refused = [](auto&& f) { return fails_with(errc::stopped, {"stopped"}, f); };
    EXPECT_TRUE(refused([&] { spgemm(w, a, a); }));
    EXPECT_TRUE(refused([&] { transpose(w, a); }));
    EXPECT_TRUE(refused([&] { add(w, 1.0, a, 1.0, a); }));
    EXPECT_TRUE(refused([&] { convert(any, format::sell, w); }));
    EXPECT_TRUE(refused([&] { optimize(any, {}, w); }));
    spmv(w, 1.0, a, x, 0.0, y);
    EXPECT_EQ(y[0], 2.0);
  }
  EXPECT_EQ(spgemm(a, a).rows, 400); // the scope has ended
}

TEST(stopping, holds_for_the_innermost_scope_of_a_thread) {
  auto const a = generate("poisson2d5:20");
  std::stop_source outer, inner;
  outer.request_stop();
  stop_scope const first(outer.get_token());
  {
    stop_scope const second(inner.get_token());
    EXPECT_EQ(transpose(a).rows, 400);
    std::thread([&] { EXPECT_EQ(transpose(a).rows, 400); }).join(); // another thread has none
  }
  EXPECT_TRUE(fails_with(errc::stopped, {}, [&] { transpose(a); }));
}

// The request comes while the product is on its way; it would take seconds.
TEST(stopping, comes_from_another_thread) {
  auto const a = generate("random:3000:3000:600000");
  std::stop_source stop;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  stop_scope const scope(stop.get_token());
  EXPECT_TRUE(fails_with(errc::stopped, {"stopped"}, [&] {
    for (;;)
      spgemm(cpu{.threads = 2}, a, a);
  }));
  other.join();
}

} // namespace
} // namespace tulle::test::stop_test
