// SPDX-License-Identifier: Apache-2.0

// csr by rows: blocks of each kind, and relations of columns that a plan knows, give the product
// and the same bits with a plan and without, for every number of threads.
#include "tulle/core/machine.hpp"
#include "tulle/op/convert.hpp"

#include "support/expect.hpp"
#include "support/product.hpp"
#include "support/zoo.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace tulle::test::spmv_rows_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct sample {
  std::string name;
  csr<double> matrix;
  std::string word = {}; // of the path, in sets with vectors of four
};

/// Row i has the columns that columns(i) returns; values are small integers.
csr<double> from_rows(std::int32_t rows,
                      std::function<std::vector<std::int32_t>(std::int32_t)> const& columns) {
  csr<double> a;
  a.rows = rows;
  std::vector<std::int32_t> ptr = {0}, col;
  std::vector<double> val;
  for (std::int32_t i = 0; i < rows; ++i) {
    for (std::int32_t const c : columns(i)) {
      col.push_back(c);
      val.push_back(static_cast<double>(val.size() * 7 % 9) - 4);
      a.cols = std::max(a.cols, c + 1);
    }
    ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  a.row_ptr = {ptr.data(), ptr.size()};
  a.col = {col.data(), col.size()};
  a.val = {val.data(), val.size()};
  return a;
}

/// n columns `apart` from each other from c on; backwards: the last first.
std::vector<std::int32_t> spread(std::int32_t c, std::int32_t n, std::int32_t apart,
                                 bool backwards = false) {
  std::vector<std::int32_t> r;
  for (std::int32_t j = 0; j < n; ++j)
    r.push_back(c + (backwards ? n - 1 - j : j) * apart);
  return r;
}

std::vector<sample> samples() {
  std::vector<sample> all;
  std::mt19937 random(5);
  auto const any = [&](std::int32_t lo, std::int32_t hi) {
    return std::uniform_int_distribution<std::int32_t>(lo, hi)(random);
  };
  for (std::int32_t n = 1; n <= 17; ++n) {
    std::string const of = std::to_string(n);
    all.push_back(
        {"equal " + of,
         from_rows(1003, [&](std::int32_t i) { return spread(i * 7 % 50, n, 1 + i % 3); }),
         n > 2 && n < 15 ? "equal" : ""});
    // Runs end at a row of another length, and at one that begins elsewhere.
    for (bool const backwards : {false, true})
      all.push_back({"shifted " + of + (backwards ? " unsorted" : ""),
                     from_rows(1001,
                               [&](std::int32_t i) {
                                 return spread(i % 333 + (i % 97 == 0), i % 217 == 5 ? n + 1 : n, 3,
                                               backwards);
                               }),
                     n > 2 ? "shifted" : ""});
  }
  for (std::int32_t const n : {27, 40})
    all.push_back({"shifted " + std::to_string(n),
                   from_rows(700, [&](std::int32_t i) { return spread(i % 301, n, 2); }),
                   "shifted"});
  for (std::int32_t const n : {9, 16, 23, 32, 270, 1100})
    for (std::int32_t const group : {2, 3, 4, 5, 6})
      all.push_back({"groups of " + std::to_string(group) + " with " + std::to_string(n),
                     from_rows(n < 100 ? 900 : 61,
                               [&](std::int32_t i) {
                                 return spread(i / group * 5 % 70, n + i / group % 2, 3);
                               }),
                     n < 16 || n > 1000 ? "" : "shared columns"});
  all.push_back(
      {"products first",
       from_rows(24000, [&](std::int32_t i) { return spread(i % 900, any(0, 9), any(1, 4)); }),
       "products first"});
  all.push_back({"products first, with long rows",
                 from_rows(24000,
                           [&](std::int32_t i) {
                             return spread(i % 900,
                                           i % 1999 == 7  ? 3000
                                           : i % 61 == 60 ? any(60, 200)
                                                          : any(0, 12),
                                           any(1, 2));
                           }),
                 "products first"});
  all.push_back(
      {"long",
       from_rows(900,
                 [&](std::int32_t i) { return spread(i * 13 % 200, 20 + any(0, 3), any(1, 5)); }),
       ""});
  all.push_back(
      {"plain",
       from_rows(900,
                 [&](std::int32_t i) { return spread(i * 13 % 200, any(0, 9) == 0 ? 3 : 1, 2); }),
       ""});
  all.push_back(
      {"wide",
       from_rows(70, [&](std::int32_t i) { return spread(i, any(300, 1500), i % 2 ? 1 : 200); }),
       "wide"});
  all.push_back(
      {"dense", from_rows(90, [](std::int32_t) { return spread(0, 700, 1); }), "dense tiles"});
  all.push_back({"dense, backwards",
                 from_rows(90, [](std::int32_t) { return spread(0, 700, 1, true); }), ""});
  all.push_back({"dense, of runs that begin anywhere",
                 from_rows(60, [&](std::int32_t) { return spread(any(0, 99), any(400, 900), 1); }),
                 "dense tiles"});
  all.push_back({"duplicates",
                 from_rows(500,
                           [&](std::int32_t i) {
                             std::vector<std::int32_t> c = spread(i % 40, 6, 1);
                             c[4] = c[1];
                             return c;
                           }),
                 ""});
  for (std::int32_t const rows : {1, 2, 3, 4, 5, 7, 8, 9, 127, 128, 129})
    for (std::int32_t const n : {1, 4, 5, 8, 18})
      all.push_back({std::to_string(rows) + " rows of " + std::to_string(n),
                     from_rows(rows, [&](std::int32_t i) { return spread(i, n, 1); }), ""});
  return all;
}

class spmv_rows_of : public testing::TestWithParam<std::size_t> {
protected:
  type_tag const type = static_cast<type_tag>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(spmv, spmv_rows_of, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(spmv_rows_of, are_exact_on_integers) {
  for (sample const& s : samples()) {
    any_matrix const a = as_type(s.matrix, type);
    dense const x = to_dense(type, integers(a.cols(), 1));
    dense const y = to_dense(type, integers(a.rows(), 2));
    product const p = exact_product(a, false, x);
    for (int const threads : {1, 3}) {
      cpu const w{.threads = threads};
      spmv_plan plan(w, a);
      for (spmv_plan* const with : {static_cast<spmv_plan*>(nullptr), &plan}) {
        dense got = y;
        multiply(w, -1, a, false, x, 2.5, got, with);
        ASSERT_TRUE(is_product(p, -1, 2.5, y, got, 0, 0)) << s.name << " " << plan.path();
        got = constant(type, a.rows(), nan);
        multiply(w, 2, a, false, x, 0, got, with);
        ASSERT_TRUE(is_product(p, 2, 0, y, got, 0, 0)) << s.name << " " << plan.path();
      }
    }
  }
}

TEST_P(spmv_rows_of, have_the_same_bits_with_a_plan_and_without_for_every_number_of_threads) {
  for (sample const& s : samples()) {
    any_matrix const a = as_type(rough(s.matrix), type);
    dense const x = to_dense(type, roughs(a.cols(), 1));
    dense const y = to_dense(type, roughs(a.rows(), 2));
    dense first = y;
    multiply(cpu{.threads = 1}, 0.75, a, false, x, -1.25, first);
    ASSERT_TRUE(is_product(exact_product(a, false, x), 0.75, -1.25, y, first, epsilon(type), 8))
        << s.name;
    for (int const threads : {1, 2, 7}) {
      cpu const w{.threads = threads};
      spmv_plan plan(w, a);
      for (spmv_plan* const with : {static_cast<spmv_plan*>(nullptr), &plan, &plan}) {
        dense got = y;
        multiply(w, 0.75, a, false, x, -1.25, got, with);
        ASSERT_TRUE(same_bits(got, first))
            << s.name << " " << plan.path() << (with ? "" : " alone");
      }
    }
  }
}

// What is not x stays out: vectors that reach beyond a row do not take it along.
TEST(spmv_rows, keep_nan_in_their_rows) {
  for (sample const& s : samples()) {
    csr<double> a = s.matrix;
    if (a.rows < 9)
      continue;
    std::vector<double> x = integers(static_cast<std::size_t>(a.cols), 1);
    x[static_cast<std::size_t>(a.col[a.col.size() / 2])] = nan;
    a.val[a.val.size() / 3] = std::numeric_limits<double>::infinity();
    std::vector<double> expected(static_cast<std::size_t>(a.rows)), y(expected.size());
    spmv(reference{}, 1.0, a, x, 0.0, expected);
    spmv_plan plan(a);
    for (bool const planned : {false, true}) {
      planned ? spmv(plan, 1.0, a, x, 0.0, y) : spmv(1.0, a, x, 0.0, y);
      for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_TRUE(y[i] == expected[i] || (std::isnan(y[i]) && std::isnan(expected[i])))
            << s.name << " row " << i << ": " << y[i] << ", not " << expected[i];
    }
  }
}

TEST(spmv_rows, are_said_by_path) {
  if (active_isa() != isa::avx2)
    GTEST_SKIP() << "other sets have other widths, and fewer or more wide rows";
  for (sample const& s : samples())
    if (!s.word.empty()) {
      std::string const path = spmv_plan(s.matrix).path();
      EXPECT_NE(path.find(s.word), std::string::npos) << s.name << ": " << path;
    }
}

// A plan knows columns, so other ones of the same shape are refused, not multiplied wrongly.
TEST(spmv_rows, of_another_pattern_are_refused) {
  csr<double> const a = from_rows(400, [](std::int32_t i) { return spread(i, 5, 3); });
  csr<double> b = a;
  b.col[3] -= 1;
  std::vector<double> const x(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> y(static_cast<std::size_t>(a.rows), 5);
  spmv_plan plan(a);
  expect_refused(errc::bad_structure, {"spmv", "another pattern"}, y,
                 [&] { spmv(plan, 1.0, b, x, 0.0, y); });
}

} // namespace
} // namespace tulle::test::spmv_rows_test
