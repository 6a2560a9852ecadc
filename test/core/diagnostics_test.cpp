// SPDX-License-Identifier: Apache-2.0

// What set_diagnostics() is told, and what it is not.
#include "tulle/core/device.hpp"
#include "tulle/core/diagnostics.hpp"
#include "tulle/format/coo.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spgemm.hpp"
#include "tulle/op/spmm.hpp"

#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace tulle::test::diagnostics_test {
namespace {

/// What is told while it lives.
class listener {
public:
  listener()
      : before_(set_diagnostics([this](diagnostic const& d) {
          told.push_back({d.what, d.text});
        })) {}
  ~listener() { set_diagnostics(before_); }
  bool has(event what, std::string const& text) const {
    for (auto const& [e, t] : told)
      if (e == what && t.find(text) != std::string::npos)
        return true;
    return false;
  }
  std::vector<std::pair<event, std::string>> told;

private:
  diagnostics before_;
};

csr<double> const& matrix() {
  return find("diagonal").matrix;
}
std::vector<double> ones(std::size_t n) {
  return std::vector<double>(n, 1);
}

TEST(diagnostics, tell_of_operands_that_are_converted) {
  auto const a = coo<double, std::int32_t, std::int32_t>::from_csr(matrix().view());
  std::vector<double> const x = ones(static_cast<std::size_t>(a.cols));
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  listener const here;
  spmv(reference{}, 1.0, a, x, 0.0, y);
  bool const has_kernel = here.told.empty();
  EXPECT_EQ(has_kernel, spmv_plan(reference{}, a).path().find("through csr") == std::string::npos);
  spgemm(a, a);
  EXPECT_TRUE(here.has(event::fallback, "coo operand is converted to csr"));
}

TEST(diagnostics, tell_of_products_that_go_column_by_column) {
  csr<double> const& a = matrix();
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
  std::vector<double> const b = ones(rows * 2);
  std::vector<double> c(cols * 2);
  listener const here;
  spmm(1.0, transposed(a), row_major(b.data(), rows, 2), 0.0, row_major(c.data(), cols, 2));
  EXPECT_TRUE(here.has(event::fallback, "csr transposed has no kernel and goes column by column"));
}

TEST(diagnostics, tell_of_plans_that_read_all_indices_and_not_of_calls_as_planned) {
  csr<double> const& a = matrix();
  csr<double> const copy = a;
  std::vector<double> const x = ones(static_cast<std::size_t>(a.rows));
  std::vector<double> y(static_cast<std::size_t>(a.cols));
  spmv_plan plan(transposed(a)); // whose kernel depends on the pattern, or on nothing but its size
  listener const here;
  spmv(plan, 1.0, transposed(a), x, 0.0, y);
  spmv(plan, 1.0, transposed(a), x, 0.0, y);
  EXPECT_TRUE(here.told.empty());
  spgemm_plan squares(a, copy);
  EXPECT_TRUE(here.told.empty());
  spgemm(squares, copy, copy);
  EXPECT_TRUE(here.has(event::pattern_compared, "spgemm: the plan met arrays of A"));
}

TEST(diagnostics, do_not_fail_an_operation_nor_tell_of_themselves) {
  auto const a = coo<double, std::int32_t, std::int32_t>::from_csr(matrix().view());
  int calls = 0;
  diagnostics const before = set_diagnostics([&](diagnostic const& d) {
    ++calls;
    EXPECT_STREQ(name(d.what), "fallback");
    (void)spgemm(a, a); // has the same to tell
    throw 1;
  });
  csr<double> const c = spgemm(a, a);
  EXPECT_EQ(calls, 2);
  set_diagnostics({});
  EXPECT_EQ(spgemm(a, a), c);
  EXPECT_EQ(calls, 2);
  set_diagnostics(before);
}

TEST(diagnostics, tell_why_a_module_is_missing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // modules are looked for once a process
  EXPECT_EXIT(
      {
        setenv("TULLE_OPENCL_MODULE", "/nowhere/libtulle_opencl.so", 1);
        listener const here;
        (void)devices(backend::opencl);
        std::_Exit(here.has(event::module_missing, "/nowhere/libtulle_opencl.so") ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace tulle::test::diagnostics_test
