// SPDX-License-Identifier: Apache-2.0

// The methods of csr against extended precision, on the whole zoo; the same bits for every number
// of threads; what a method refuses.
#include "tulle/core/machine.hpp"
#include "tulle/op/convert.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/product.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::spmv_methods_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

class spmv_methods_of : public testing::TestWithParam<std::size_t> {
protected:
  type_tag const type = static_cast<type_tag>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(spmv, spmv_methods_of, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

// What the default is tested for elsewhere, the others are here.
std::vector<spmv_method> others() {
  auto const all = spmv_methods(format::csr);
  return {all.begin() + 1, all.end()};
}

void multiply_by(spmv_method m, int threads, wide alpha, any_matrix const& a, dense const& x,
                 wide beta, dense& y) {
  cpu const w{.threads = threads};
  spmv_plan plan(w, a, {.method = m});
  multiply(w, alpha, a, false, x, beta, y, &plan);
}

TEST_P(spmv_methods_of, is_exact_on_integers) {
  for (animal const& animal : zoo()) {
    any_matrix const a = as_type(animal.matrix, type);
    dense const x = to_dense(type, integers(a.cols(), 1));
    dense const y = to_dense(type, integers(a.rows(), 2));
    product const p = exact_product(a, false, x);
    for (spmv_method const m : others()) {
      for (int const threads : {1, 2, 3, 7}) {
        dense got = y;
        multiply_by(m, threads, -1, a, x, 2.5, got);
        ASSERT_TRUE(is_product(p, -1, 2.5, y, got, 0, 0))
            << animal.name << " " << name(m) << " " << threads;
      }
      dense got = constant(type, a.rows(), nan);
      multiply_by(m, 2, 2, a, x, 0, got);
      ASSERT_TRUE(is_product(p, 2, 0, y, got, 0, 0)) << animal.name << " " << name(m);
    }
  }
}

TEST_P(spmv_methods_of, is_within_rounding_on_rough_values) {
  for (animal const& animal : zoo()) {
    any_matrix const a = as_type(rough(animal.matrix), type);
    dense const x = to_dense(type, roughs(a.cols(), 1));
    dense const y = to_dense(type, roughs(a.rows(), 2));
    product const p = exact_product(a, false, x);
    for (spmv_method const m : others()) {
      dense got = y;
      multiply_by(m, 3, 0.75, a, x, -1.25, got);
      ASSERT_TRUE(is_product(p, 0.75, -1.25, y, got, epsilon(type), 8))
          << animal.name << " " << name(m);
    }
  }
}

TEST_P(spmv_methods_of, bits_do_not_depend_on_threads) {
  std::vector<std::pair<std::string, any_matrix>> matrices;
  for (char const* const which :
       {"lengths_0_to_70", "six_rows_of_8191", "six_rows_of_8192", "tile_begins_with_empty_rows",
        "row_over_many_tiles", "long_rows_with_crumbs", "skewed", "20000_empty_rows"})
    matrices.emplace_back(which, as_type(rough(find(which).matrix), type));
  if (type == type_tag::f64_i32)
    matrices.emplace_back("elephant", elephant());
  for (auto const& [which, a] : matrices) {
    dense const x = to_dense(type, roughs(a.cols(), 1));
    dense const y = to_dense(type, roughs(a.rows(), 2));
    for (spmv_method const m : others()) {
      dense first = y;
      multiply_by(m, 1, 0.75, a, x, -1.25, first);
      for (int const threads : {2, 3, 7, 64}) {
        spmv_plan plan(cpu{.threads = threads}, a, {.method = m});
        for (int run = 0; run < 2; ++run) { // the second with what the first left behind
          dense got = y;
          multiply(cpu{}, 0.75, a, false, x, -1.25, got, &plan);
          ASSERT_TRUE(same_bits(got, first)) << which << " " << plan.path() << " run " << run;
        }
      }
    }
  }
}

// Rows of such lengths that tiles of 64 entries, blocks of 8192 and the path's tiles end before, at
// and behind the ends of rows, with empty rows there.
TEST(spmv_methods, are_exact_where_rows_end_near_tiles) {
  for (std::int32_t const length : {63, 64, 65, 8191, 8192, 8193})
    for (std::int32_t const empty : {0, 1, 3, 200}) {
      std::vector<std::int32_t> lengths(static_cast<std::size_t>(empty), 0);
      for (int i = 0; i < (length < 100 ? 300 : 5); ++i) {
        lengths.push_back(length);
        lengths.insert(lengths.end(), static_cast<std::size_t>(i % 2 ? empty : 0), 0);
        lengths.push_back(i % 3);
      }
      lengths.insert(lengths.end(), static_cast<std::size_t>(empty), 0);
      any_matrix const a = from_lengths(9000, lengths);
      dense const x = to_dense(a.type(), integers(a.cols(), 1));
      dense const y = to_dense(a.type(), integers(a.rows(), 2));
      product const p = exact_product(a, false, x);
      for (spmv_method const m : others())
        for (double const beta : {0.0, -2.0}) {
          dense got = beta == 0 ? constant(a.type(), a.rows(), nan) : y;
          multiply_by(m, 3, 0.5, a, x, beta, got);
          ASSERT_TRUE(is_product(p, 0.5, beta, y, got, 0, 0))
              << name(m) << " length " << length << " empty " << empty << " beta " << beta;
        }
    }
}

// An Inf in one row is no NaN in the next, and y of an empty row is beta y alone.
TEST(spmv_methods, keep_inf_and_nan_in_their_rows) {
  for (char const* const which : {"lengths_0_to_70", "mostly_empty_rows", "skewed"}) {
    csr<double> const a = find(which).matrix;
    std::vector<double> x = integers(static_cast<std::size_t>(a.cols), 1);
    x[static_cast<std::size_t>(a.col[a.col.size() / 2])] = inf;
    x[static_cast<std::size_t>(a.col[a.col.size() / 3])] = nan;
    std::vector<double> y = integers(static_cast<std::size_t>(a.rows), 2), expected = y;
    std::vector<double> const before = y;
    spmv(reference{}, -1.0, a, x, 0.5, expected);
    for (spmv_method const m : others()) {
      y = before;
      spmv(cpu{.threads = 3}, -1.0, a, x, 0.5, y, {.method = m});
      for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_TRUE(y[i] == expected[i] || (std::isnan(y[i]) && std::isnan(expected[i])))
            << which << " " << name(m) << " row " << i << ": " << y[i] << ", not " << expected[i];
    }
  }
}

TEST(spmv_methods, unsorted_and_duplicate_rows_mean_the_same_matrix) {
  for (animal const& animal : zoo())
    if (!animal.twin.empty()) {
      any_matrix const a = animal.matrix;
      dense const x = to_dense(a.type(), integers(a.cols(), 1));
      product const p = exact_product(any_matrix(find(animal.twin).matrix), false, x);
      for (spmv_method const m : others()) {
        dense y = constant(a.type(), a.rows(), nan);
        multiply_by(m, 2, 1, a, x, 0, y);
        EXPECT_TRUE(is_product(p, 1, 0, y, y, 0, 0)) << animal.name << " " << name(m);
      }
    }
}

TEST(spmv_methods, are_taken_by_calls_and_plans_and_said_by_path) {
  csr<double> const a = find("skewed").matrix;
  any_matrix const any = a;
  std::vector<double> const x = integers(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> expected(static_cast<std::size_t>(a.rows));
  spmv(reference{}, 1.0, a, x, 0.0, expected);
  std::string const set = name(active_isa());
  EXPECT_EQ(spmv_plan(cpu{.threads = 2}, a).path(),
            spmv_plan(cpu{.threads = 2}, a, {.method = spmv_method::rows}).path());
  for (spmv_method const m : spmv_methods(format::csr)) {
    std::string const path = spmv_plan(cpu{.threads = 2}, any, {.method = m}).path();
    EXPECT_TRUE(path.starts_with("cpu/" + set + " csr " + name(m))) << path;
    EXPECT_TRUE(path.ends_with(", 2 threads")) << path;
    EXPECT_EQ(spmv_plan(reference{}, a, {.method = m}).path(), "reference csr");
    auto const check = [&](auto&& call) {
      std::vector<double> y(expected.size(), nan);
      call(y);
      EXPECT_EQ(y, expected) << name(m);
    };
    check([&](auto& y) { spmv(1.0, a, x, 0.0, y, {.method = m}); });
    check([&](auto& y) { spmv(1.0, any, x, 0.0, y, {.method = m}); });
    check([&](auto& y) { spmv(1.0, scaled(a, 1.0), x, 0.0, y, {.method = m}); });
    check([&](auto& y) { spmv(cpu{.threads = 2}, 1.0, a, x, 0.0, y, {.method = m}); });
    check([&](auto& y) { spmv(cpu{.threads = 2}, 1.0, any, x, 0.0, y, {.method = m}); });
    check([&](auto& y) { spmv(reference{}, 1.0, a, x, 0.0, y, {.method = m}); });
    spmv_plan plan(a, {.method = m});
    check([&](auto& y) { spmv(plan, 1.0, a, x, 0.0, y); });
  }
}

TEST(spmv_methods, are_refused_where_a_format_lacks_them) {
  csr<double> const a = find("dense").matrix;
  std::vector<double> x(static_cast<std::size_t>(std::max(a.rows, a.cols)), 1);
  std::vector<double> y(x.size(), 5);
  for_each_format(a, [&](any_matrix const& m) {
    if (spmv_methods(m.format()).empty())
      for (where const& w : {where(cpu{}), where(reference{})})
        expect_refused(errc::unsupported, {"spmv", name(m.format()), "merge", "none"}, y, [&] {
          spmv(w, 1.0, m, vector_view<double const>(x.data(), m.cols()), 0.0,
               vector_view<double>(y.data(), m.rows()), {.method = spmv_method::merge});
        });
  });
  for (spmv_method const m : spmv_methods(format::csr))
    expect_refused(errc::unsupported, {"transposed", "csr", name(m), "rows, merge, segments"}, y,
                   [&] { spmv_plan(transposed(a), {.method = m}); });
  EXPECT_NO_THROW(spmv_plan(transposed(a), {.method = spmv_method::automatic}));
}

} // namespace
} // namespace tulle::test::spmv_methods_test
