// SPDX-License-Identifier: Apache-2.0

// New values from whatever a csr is held in, and layouts that can take any.
#include "tulle/core/any_matrix.hpp"
#include "tulle/format/csr5.hpp"
#include "tulle/format/dia.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/optimize.hpp"
#include "tulle/op/spmv.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::refill_test {
namespace {

using wide = csr<double, std::int32_t, std::int64_t>;

std::vector<double> product(any_matrix const& a) {
  std::vector<double> const x = integers(a.cols(), 3);
  std::vector<double> y(a.rows());
  spmv(1.0, a, x, 0.0, y);
  return y;
}

TEST(refill, of_any_matrix_takes_owners_views_and_references) {
  csr<double> const a = find("banded").matrix, b = other_values(a, 5), c = other_values(a, 6);
  for (format const f : {format::csr, format::csr5, format::sell, format::coo}) {
    any_matrix m = convert(a, f);
    m.refill(b);
    EXPECT_EQ(product(m), product(b)) << name(f);
    m.refill(c.view());
    EXPECT_EQ(product(m), product(c)) << name(f);
    any_matrix const boxed = b;
    m.refill(boxed);
    EXPECT_EQ(product(m), product(b)) << name(f);
    any_matrix const other = c;
    m.refill(other.ref());
    EXPECT_EQ(product(m), product(c)) << name(f);
    csr_view<double> const v(a.rows, a.cols, a.row_ptr, a.col, b.val);
    m.refill(v, cpu{.threads = 1});
    EXPECT_EQ(product(m), product(b)) << name(f);
  }
}

// Copying an owner would allocate its three arrays by the default resource, that is by operator new
// where a block is small.
TEST(refill, copies_no_owner) {
  csr<double> const a = find("banded").matrix, b = other_values(a, 5);
  any_matrix m = a;
  if (!counts_global_allocations())
    GTEST_SKIP() << "operator new is not ours here";
  m.refill(b); // what is allocated once
  std::size_t const before = global_allocations();
  m.refill(b, cpu{.threads = 1});
  EXPECT_EQ(global_allocations(), before);
}

TEST(refill, of_an_owner_takes_owners_and_references) {
  csr<double> const a = find("banded").matrix, b = other_values(a, 5);
  csr5<double> m = csr5<double>::from_csr(a);
  m.refill(b);
  EXPECT_EQ(product(m), product(b));
  any_matrix const boxed = a;
  m.refill(boxed.ref().as<csr_view<double>>());
  EXPECT_EQ(product(m), product(a));
  EXPECT_TRUE(fails_with(errc::unsupported, {"csr of f32_i32 was asked for", "csr of f64_i32"},
                         [&] { (void)boxed.ref().as<csr_view<float>>(); }));
  EXPECT_TRUE(
      fails_with(errc::unsupported, {"null"}, [&] { (void)matrix_ref().as<csr_view<float>>(); }));
}

TEST(refill, takes_wider_offsets_that_fit) {
  csr<double> const a = find("banded").matrix;
  any_matrix const given = as_type(other_values(a, 5), type_tag::f64_i32_i64);
  any_matrix m = convert(a, format::csr5);
  m.refill(given);
  EXPECT_EQ(product(m), product(other_values(a, 5)));
  m.refill(*as_type(a, type_tag::f64_i32_i64).get_if<wide>());
  EXPECT_EQ(product(m), product(a));
  EXPECT_TRUE(fails_with(errc::unsupported, {"expected a csr of f64_i32, found a csr of f32_i32"},
                         [&] { m.refill(as_type(a, type_tag::f32_i32)); }));
  EXPECT_TRUE(
      fails_with(errc::unsupported, {"found a coo"}, [&] { m.refill(convert(a, format::coo)); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"null"}, [&] { m.refill(matrix_ref()); }));
}

TEST(convert, shortens_offsets_that_fit) {
  csr<double> const a = find("banded").matrix;
  any_matrix const given = as_type(a, type_tag::f64_i32_i64);
  for (format const f : {format::csr5, format::sell, format::dia}) {
    any_matrix const m = convert(given, f);
    EXPECT_EQ(m.type(), type_tag::f64_i32) << name(f);
    EXPECT_EQ(product(m), product(a)) << name(f);
    EXPECT_EQ(convert(convert(given, format::coo), f).type(), type_tag::f64_i32) << name(f);
  }
  EXPECT_EQ(convert(given, format::csc).type(), type_tag::f64_i32_i64); // is built
  EXPECT_TRUE(fails_with(errc::unsupported, {"csr5", "c64_i32_i64"},
                         [&] { convert(as_type(a, type_tag::c64_i32_i64), format::csr5); }));
  // 2^31 entries in a row, said and not there: refused before any is read.
  std::int64_t const row_ptr[] = {0, std::int64_t{1} << 31};
  std::int32_t const col[] = {0};
  double const val[] = {1};
  csr_view<double, std::int32_t, std::int64_t> const huge(unchecked, 1, 1, row_ptr[1], row_ptr, col,
                                                          val);
  EXPECT_TRUE(fails_with(errc::overflow, {"2147483648 entries", "f64_i32_i64"},
                         [&] { convert(huge, format::csr5); }));
}

// Which stretches share values follows from the values: it is no part of the pattern of a plan.
TEST(refill, keeps_a_plan_where_stretches_are_shared_anew) {
  csr<double> const a = generate("poisson2d5:50"), b = other_values(a, 5);
  auto m = dia<double>::from_csr(a.view(), {.shared = true});
  array<std::int32_t> const before = m.shared;
  std::vector<double> const x = integers(static_cast<std::size_t>(a.cols), 3);
  std::vector<double> y(x.size());
  spmv_plan plan(m);
  m.refill(b.view());
  ASSERT_NE(m.shared, before);
  spmv(plan, 1.0, m, x, 0.0, y);
  EXPECT_EQ(y, product(b));
}

TEST(optimize, shortens_offsets_that_fit) {
  csr<double> const a = generate("poisson2d5:50");
  any_matrix const given = as_type(a, type_tag::f64_i32_i64);
  optimized best = optimize(given, {.calls = 1e6});
  EXPECT_EQ(best.type(), type_tag::f64_i32);
  EXPECT_NE(best.format(), format::csr);
  EXPECT_EQ(product(best), product(a));
  EXPECT_NO_THROW(best.refill(given));
}

TEST(optimize, of_values_that_change_picks_what_takes_any) {
  csr<double> const a = generate("poisson2d5:300");
  EXPECT_EQ(name(optimize(a, {.calls = 1000}).considered().front().layout), "dia:shared=true");
  optimized best = optimize(a, {.calls = 1000, .values_change = true});
  EXPECT_EQ(name(best.considered().front().layout), "dia");
  int refused = 0;
  for (candidate const& c : best.considered())
    if (name(c.layout) == "dia:shared=true" || name(c.layout) == "dia:symmetric=true" ||
        name(c.layout) == "bcsr:symmetric=true" || name(c.layout) == "scsr") {
      EXPECT_NE(c.remark.find("values"), std::string::npos) << name(c.layout);
      ++refused;
    }
  EXPECT_EQ(refused, 4);
  csr<double> const b = other_values(a, 5); // neither repeated nor symmetric
  best.refill(b);
  EXPECT_EQ(product(best), product(b));
}

} // namespace
} // namespace tulle::test::refill_test
