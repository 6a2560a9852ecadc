// SPDX-License-Identifier: Apache-2.0

// spmv of every format, type and backend against extended precision, on the whole zoo.
#include "tulle/op/convert.hpp"

#include "support/layouts.hpp"
#include "support/product.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::spmv_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double tolerance = 8; // in units of epsilon times the row's magnitude

// One value for each built pair: what a parameterised test sweeps.
class spmv_types : public testing::TestWithParam<std::size_t> {
protected:
  type_tag const type = static_cast<type_tag>(GetParam());
};
std::string type_name(testing::TestParamInfo<std::size_t> const& info) {
  return name(static_cast<type_tag>(info.param));
}
INSTANTIATE_TEST_SUITE_P(spmv, spmv_types, testing::Range<std::size_t>(0, type_count), type_name);

struct scalars {
  double alpha, beta;
};
constexpr scalars every_scalar[] = {{0, 0},   {0, 1},   {0, -1},   {0, 2.5},  {1, 0},   {1, 1},
                                    {1, -1},  {1, 2.5}, {-1, 0},   {-1, 1},   {-1, -1}, {-1, 2.5},
                                    {2.5, 0}, {2.5, 1}, {2.5, -1}, {2.5, 2.5}};

std::size_t in(any_matrix const& a, bool transposed) {
  return transposed ? a.rows() : a.cols();
}
std::size_t out(any_matrix const& a, bool transposed) {
  return transposed ? a.cols() : a.rows();
}

std::vector<where> every_where(std::size_t rows, bool small) {
  std::vector<where> w = {reference{}};
  for (int const threads : {1, 2, 3, 7})
    w.push_back(cpu{.threads = threads});
  if (small && rows < 40)
    w.push_back(cpu{.threads = static_cast<int>(rows) + 3});
  return w;
}

// A matrix or its transpose with x and y, and what they give.
struct operands {
  bool transposed;
  dense x, y;
  product p;

  operands(any_matrix const& csr, bool transposed,
           std::vector<double> (*values)(std::size_t, unsigned))
      : transposed(transposed), x(to_dense(csr.type(), values(in(csr, transposed), 1))),
        y(to_dense(csr.type(), values(out(csr, transposed), 2))),
        p(exact_product(csr, transposed, x)) {}
};

std::string text(where const& w) {
  return std::string(name(w.backend)) + " " + std::to_string(w.threads);
}

// Integers: the sums are exact in every order, so the slightest slip shows.
TEST_P(spmv_types, is_exact_on_integers) {
  for (animal const& animal : zoo()) {
    any_matrix const csr = as_type(animal.matrix, type);
    bool const small = csr.nnz() + csr.rows() < 5000;
    operands const both[] = {{csr, false, integers}, {csr, true, integers}};
    for_each_layout(csr, [&](std::string const& what, any_matrix const& a) {
      auto const check = [&](operands const& o, scalars s, where const& w) {
        wide const alpha = scalar(type, s.alpha);
        wide const beta = scalar(type, s.beta);
        dense got = s.beta == 0 ? constant(type, o.y.size(), nan) : o.y;
        multiply(w, alpha, a, o.transposed, o.x, beta, got);
        ASSERT_TRUE(is_product(o.p, alpha, beta, o.y, got, 0, 0))
            << animal.name << " " << what << (o.transposed ? " transposed " : " ") << text(w)
            << " alpha " << s.alpha << " beta " << s.beta;
      };
      // Every scalar on one thread, every policy with one pair of scalars: in a kernel the two do
      // not meet, nor do scalars and a layout's options, for which the four pairs of one number do.
      // Policies come outside of operands: another number of threads ends some of them and starts
      // others.
      if (small)
        for (operands const& o : both)
          for (scalars const s : every_scalar)
            if (is_default(what) || s.alpha == s.beta) {
              check(o, s, reference{});
              check(o, s, cpu{.threads = 1});
            }
      for (where const& w : every_where(csr.rows(), small))
        for (operands const& o : both) {
          if (w.backend == backend::cpu && w.threads == 3)
            check(o, {1, 0}, w);
          if (what == "csr" || w.backend != backend::reference) // which goes through csr
            if (small || is_default(what) || w.threads == 7)
              check(o, {-1, 2.5}, w);
        }
    });
  }
}

TEST_P(spmv_types, is_within_rounding_on_rough_values) {
  for (animal const& animal : zoo()) {
    any_matrix const csr = as_type(rough(animal.matrix), type);
    operands const both[] = {{csr, false, roughs}, {csr, true, roughs}};
    for_each_layout(csr, [&](std::string const& what, any_matrix const& a) {
      for (auto const& [transposed, x, y, p] : both)
        for (where const& w : {where(cpu{.threads = 3}), where(reference{})}) {
          if (w.backend == backend::reference && !is_default(what))
            continue;
          wide const alpha = scalar(type, 0.75);
          wide const beta = scalar(type, -1.25);
          dense got = y;
          multiply(w, alpha, a, transposed, x, beta, got);
          ASSERT_TRUE(is_product(p, alpha, beta, y, got, epsilon(type), tolerance))
              << animal.name << " " << what << (transposed ? " transposed " : " ") << text(w);
        }
    });
  }
}

// Rows in any order, duplicates as their sum: without conversion, which would sort them.
TEST_P(spmv_types, unsorted_and_duplicate_rows_mean_the_same_matrix) {
  for (animal const& animal : zoo()) {
    if (animal.twin.empty())
      continue;
    any_matrix const a = as_type(animal.matrix, type);
    // as_type() makes imaginary parts of neighbouring entries, so there the twin is not the same
    // matrix.
    any_matrix const twin = name(type)[0] == 'c' ? a : as_type(find(animal.twin).matrix, type);
    for (bool const transposed : {false, true}) {
      dense const x = to_dense(type, integers(in(a, transposed), 1));
      dense const y = to_dense(type, integers(out(a, transposed), 2));
      product const p = exact_product(twin, transposed, x);
      for (where const& w : every_where(a.rows(), false)) {
        dense got = y;
        multiply(w, 1, a, transposed, x, 1, got);
        ASSERT_TRUE(is_product(p, 1, 1, y, got, 0, 0))
            << animal.name << (transposed ? " transposed " : " ") << text(w);
      }
    }
  }
}

// Columns without entries: what x holds there reaches nothing. Where an entry is, it must reach.
TEST_P(spmv_types, x_without_entries_reaches_nothing) {
  for (char const* const animal :
       {"5x0", "0x5", "all_rows_empty", "entry_last_last", "first_rows_empty", "wide",
        "lengths_0_to_70", "row_of_8192_between", "mostly_empty_rows", "blocks_with_a_gap",
        "tile_ends_in_empty_rows", "column_over_blocks"}) {
    any_matrix const csr = as_type(find(animal).matrix, type);
    for (bool const transposed : {false, true}) {
      std::vector<double> xs = integers(in(csr, transposed), 1);
      dense x = to_dense(type, xs);
      product const p = exact_product(csr, transposed, x);
      // A probe of NaN in every second free place, Inf in the others.
      product const touched =
          exact_product(csr, !transposed, constant(type, out(csr, transposed), 1));
      std::size_t free = 0;
      for (std::size_t j = 0; j < touched.magnitude.size(); ++j)
        if (touched.magnitude[j] == 0)
          set(x, j, ++free % 2 ? nan : inf);
      for_each_layout(csr, [&](std::string const& what, any_matrix const& a) {
        for (where const& w : every_where(csr.rows(), false)) {
          dense got = constant(type, out(a, transposed), nan);
          multiply(w, 1, a, transposed, x, 0, got);
          ASSERT_TRUE(is_product(p, 1, 0, got, got, 0, 0))
              << animal << " " << what << (transposed ? " transposed " : " ") << text(w);
        }
      });
    }
  }
}

TEST_P(spmv_types, nan_in_x_reaches_the_rows_that_hold_its_column) {
  any_matrix const csr = as_type(find("last_row_empty").matrix, type);
  dense x = to_dense(type, integers(csr.cols(), 1));
  for (std::size_t j = 0; j < csr.cols(); ++j)
    set(x, j, nan);
  for_each_layout(csr, [&](std::string const& what, any_matrix const& a) {
    for (where const& w : every_where(csr.rows(), true)) {
      dense y = constant(type, csr.rows(), 1);
      multiply(w, 1, a, false, x, 1, y);
      std::vector<wide> const got = widen(y);
      for (std::size_t i = 0; i + 1 < got.size(); ++i)
        EXPECT_TRUE(std::isnan(got[i].real())) << what << " " << text(w) << " row " << i;
      EXPECT_EQ(got.back().real(), 1) << what << " " << text(w);
    }
  });
}

TEST_P(spmv_types, alpha_zero_reads_neither_a_nor_x) {
  for (char const* const animal : {"dense", "skewed", "20000_empty_rows", "0x0", "5x0"}) {
    csr<double> poisoned = find(animal).matrix;
    for (double& v : poisoned.val)
      v = nan;
    any_matrix const csr = as_type(poisoned, type);
    for_each_layout(csr, [&](std::string const& what, any_matrix const& a) {
      for (bool const transposed : {false, true}) {
        dense const x = constant(type, in(a, transposed), inf);
        std::size_t const n = out(a, transposed);
        product const nothing{std::vector<wide>(n), std::vector<long double>(n)};
        dense const y = to_dense(type, integers(n, 2));
        for (where const& w : every_where(a.rows(), false))
          for (double const beta : {0.0, 1.0, 2.5}) {
            dense got = beta == 0 ? constant(type, n, nan) : y;
            multiply(w, 0, a, transposed, x, scalar(type, beta), got);
            ASSERT_TRUE(is_product(nothing, 0, scalar(type, beta), y, got, 0, 0))
                << animal << " " << what << " " << text(w);
          }
      }
    });
  }
}

} // namespace
} // namespace tulle::test::spmv_test
