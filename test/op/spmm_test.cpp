// SPDX-License-Identifier: Apache-2.0

// spmm of every type on the whole zoo, in every arrangement of B and C, against the reference; and
// that against extended precision.
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmm.hpp"

#include "op/arranged.hpp"
#include "support/layouts.hpp"
#include "support/product.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::spmm_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr std::size_t widths[] = {1, 3, 8, 17};
constexpr std::size_t widest = 17;

class spmm_types : public testing::TestWithParam<std::size_t> {
protected:
  type_tag const type = static_cast<type_tag>(GetParam());
};
INSTANTIATE_TEST_SUITE_P(spmm, spmm_types, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

std::size_t in(any_matrix const& a, bool transposed) {
  return transposed ? a.rows() : a.cols();
}
std::size_t out(any_matrix const& a, bool transposed) {
  return transposed ? a.cols() : a.rows();
}

/// A matrix or its transpose with B and C of the most columns, row-major, and what they give by the
/// reference.
struct operands {
  bool transposed;
  dense b, c;
  double alpha = 1, beta = 0;
  dense expected;

  operands(any_matrix const& csr, bool transposed, double alpha, double beta,
           std::vector<double> (*values)(std::size_t, unsigned) = integers)
      : transposed(transposed), b(to_dense(csr.type(), values(in(csr, transposed) * widest, 1))),
        c(to_dense(csr.type(), values(out(csr, transposed) * widest, 2))), alpha(alpha), beta(beta),
        expected(c) {
    multiply_dense(reference{}, alpha, csr, transposed, b, packed(in(csr, transposed), widest),
                   beta, expected, packed(out(csr, transposed), widest));
  }
};

/// The first columns of what operands are, so arranged. What lies between must not be read, nor
/// written; nor C be read where beta is zero.
testing::AssertionResult gives_the_same(where const& w, any_matrix const& a, operands const& o,
                                        std::size_t width, arrangement how_b, arrangement how_c) {
  std::size_t const b_rows = in(a, o.transposed), c_rows = out(a, o.transposed);
  places const b = arranged(how_b, b_rows, width), c = arranged(how_c, c_rows, width);
  dense const filled = constant(a.type(), c.size(), nan);
  dense const from = spread(o.b, packed(b_rows, widest), b, constant(a.type(), b.size(), nan));
  dense got = o.beta == 0 ? filled : spread(o.c, packed(c_rows, widest), c, filled);
  multiply_dense(w, o.alpha, a, o.transposed, from, b, o.beta, got, c);
  if (!same_values(got, spread(o.expected, packed(c_rows, widest), c, filled)))
    return testing::AssertionFailure()
           << (o.transposed ? "transposed, " : "") << width << " columns, B " << name(how_b)
           << ", C " << name(how_c) << ", " << w.threads << " threads, beta " << o.beta;
  return testing::AssertionSuccess();
}

/// Types of indices change no loop: one of each value sees large matrices.
bool sees_all(type_tag t) {
  return t == type_tag::f64_i32 || t == type_tag::f32_i64 || t == type_tag::c32_i32 ||
         t == type_tag::c64_i32_i64;
}

// Integers: the sums are exact in every order, so the slightest slip shows.
TEST_P(spmm_types, is_exact_on_integers) {
  for (animal const& animal : zoo()) {
    bool const small = animal.matrix.val.size() + animal.matrix.row_ptr.size() < 3000;
    if (!small && !sees_all(type))
      continue;
    any_matrix const a = as_type(animal.matrix, type);
    operands const both[] = {{a, false, 1, 0}, {a, false, 2, -1}};
    auto const check = [&](int threads, std::size_t width, arrangement how) {
      for (operands const& o : both)
        ASSERT_TRUE(gives_the_same(cpu{.threads = threads}, a, o, width, how, how)) << animal.name;
    };
    // Threads and arrangements do not meet in a kernel: all of one with some of the other.
    for (int const threads : {1, 2, 3, 7})
      check(threads, widest, small ? arrangement::columns_apart : arrangement::columns);
    for (std::size_t const width : widths)
      for (arrangement const how : every_arrangement)
        if (small || (width == 3 && how != arrangement::rows_apart))
          check(3, width, how);
    for (operands const& o : both)
      for (auto const& [how_b, how_c] : {std::pair(arrangement::rows, arrangement::columns),
                                         std::pair(arrangement::columns, arrangement::rows)})
        ASSERT_TRUE(gives_the_same(cpu{.threads = 2}, a, o, widest, how_b, how_c)) << animal.name;
  }
}

// Vectors overlap at every width that is not a multiple of theirs, and tiles follow one another.
TEST_P(spmm_types, every_width_is_exact) {
  any_matrix const a = as_type(find("lengths_0_to_70").matrix, type);
  for (std::size_t width = 1; width < 300; width += width < 40 ? 1 : 13) {
    places const b = packed(a.cols(), width), c = packed(a.rows(), width);
    dense const from = to_dense(type, integers(b.size(), 1));
    dense const before = to_dense(type, integers(c.size(), 2));
    for (double const beta : {0.0, -1.0}) {
      dense got = before, expected = before;
      multiply_dense(cpu{.threads = 2}, 2, a, false, from, b, beta, got, c);
      multiply_dense(reference{}, 2, a, false, from, b, beta, expected, c);
      ASSERT_TRUE(same_values(got, expected)) << width << " columns, beta " << beta;
    }
  }
}

TEST_P(spmm_types, the_reference_is_within_rounding) {
  for (char const* const which : {"skewed", "lengths_0_to_70", "5x0", "0x5", "dense"}) {
    any_matrix const a = as_type(rough(find(which).matrix), type);
    for (bool const transposed : {false, true}) {
      operands const o(a, transposed, 0.75, -1.25, roughs);
      for (std::size_t j = 0; j < widest; j += 8) {
        auto const column = [&](dense const& d, std::size_t rows) {
          return spread(d, {rows, 1, widest, 1, j}, packed(rows, 1), constant(type, rows, 0));
        };
        product const p = exact_product(a, transposed, column(o.b, in(a, transposed)));
        EXPECT_TRUE(is_product(p, 0.75, -1.25, column(o.c, out(a, transposed)),
                               column(o.expected, out(a, transposed)), epsilon(type), 200))
            << which << " column " << j;
      }
    }
  }
}

// Rounds differently from the reference; the same for every number of threads, run and plan.
TEST_P(spmm_types, bits_do_not_depend_on_threads) {
  std::vector<std::int32_t> lengths(500, 7);
  lengths[3] = 8191;
  lengths[100] = 8192;
  lengths[101] = 20000;
  lengths[499] = 40000;
  csr<double> const with_long_rows = from_lengths(40000, lengths);
  for (csr<double> const& source : {find("skewed").matrix, with_long_rows}) {
    any_matrix const csr = as_type(rough(source), type);
    for (format const f : {format::csr, format::csr_pool}) {
      if (!is_built(f, type))
        continue;
      any_matrix const a = convert(csr, f);
      for (std::size_t const width : {2, 9, 70})
        for (arrangement const how : {arrangement::rows, arrangement::columns}) {
          places const b = arranged(how, a.cols(), width), c = arranged(how, a.rows(), width);
          dense const from = to_dense(type, roughs(b.size(), 1));
          dense const before = to_dense(type, roughs(c.size(), 2));
          dense first = before;
          multiply_dense(cpu{.threads = 1}, 0.75, a, false, from, b, -1.25, first, c);
          for (int const threads : {1, 2, 3, 7, 16})
            for (int run = 0; run < 2; ++run) {
              dense got = before;
              multiply_dense(cpu{.threads = threads}, 0.75, a, false, from, b, -1.25, got, c);
              ASSERT_TRUE(same_bits(got, first))
                  << name(f) << " " << width << " " << name(how) << " " << threads;
            }
        }
    }
  }
}

TEST_P(spmm_types, every_format_multiplies_and_so_does_its_transpose) {
  for (char const* const which : {"skewed", "lengths_0_to_70", "5x0", "0x5", "all_rows_empty",
                                  "skewed_unsorted_duplicates", "symmetric_scattered"}) {
    any_matrix const csr = as_type(find(which).matrix, type);
    for (bool const transposed : {false, true})
      for (double const beta : {0.0, -1.0}) {
        operands const o(csr, transposed, 2, beta);
        ASSERT_TRUE(gives_the_same(cpu{.threads = 2}, csr, o, 3, arrangement::rows,
                                   arrangement::columns))
            << which; // as it is: conversion would sort it
        for_each_format(csr, [&](any_matrix const& a) {
          for (arrangement const how : {arrangement::rows_apart, arrangement::columns})
            for (where const& w : {where(cpu{.threads = 2}), where(reference{})})
              ASSERT_TRUE(gives_the_same(w, a, o, 3, how, how)) << which << " " << name(a.format());
        });
      }
  }
}

// Rows of B that no entry has: what they hold reaches nothing. Where an entry is, it must reach.
TEST_P(spmm_types, rows_of_b_without_entries_reach_nothing) {
  for (char const* const which : {"5x0", "all_rows_empty", "entry_last_last", "wide",
                                  "mostly_empty_rows", "blocks_with_a_gap"}) {
    any_matrix const csr = as_type(find(which).matrix, type);
    operands o(csr, false, 1, 0);
    product const touched = exact_product(csr, true, constant(type, csr.rows(), 1));
    std::size_t free = 0;
    for (std::size_t i = 0; i < touched.magnitude.size(); ++i)
      if (touched.magnitude[i] == 0)
        for (std::size_t j = 0; j < widest; ++j)
          set(o.b, i * widest + j, ++free % 2 ? nan : inf);
    for (format const f : {format::csr, format::csr_pool}) {
      if (!is_built(f, type))
        continue;
      for (std::size_t const width : widths)
        for (arrangement const how : {arrangement::rows, arrangement::columns})
          ASSERT_TRUE(gives_the_same(cpu{.threads = 3}, convert(csr, f), o, width, how, how))
              << which;
    }
  }
  any_matrix const csr = as_type(find("last_row_empty").matrix, type);
  places const b = packed(csr.cols(), 5), c = packed(csr.rows(), 5);
  dense got = constant(type, c.size(), 1);
  multiply_dense(cpu{}, 1, csr, false, constant(type, b.size(), nan), b, 1, got, c);
  std::vector<wide> const values = widen(got);
  for (std::size_t k = 0; k < values.size(); ++k)
    EXPECT_EQ(std::isnan(values[k].real()), k / 5 + 1 < csr.rows()) << k;
}

TEST_P(spmm_types, alpha_zero_reads_neither_a_nor_b) {
  csr<double> poisoned = find("skewed").matrix;
  for (double& v : poisoned.val)
    v = nan;
  any_matrix const a = as_type(poisoned, type);
  for (arrangement const how : every_arrangement)
    for (where const& w : {where(cpu{.threads = 3}), where(reference{})})
      for (double const beta : {0.0, 2.0}) {
        places const b = arranged(how, a.cols(), 5), c = arranged(how, a.rows(), 5);
        dense const before = to_dense(type, integers(c.size(), 2));
        dense got = beta == 0 ? spread(constant(type, c.size(), nan), c, c, before) : before;
        multiply_dense(w, 0, a, false, constant(type, b.size(), nan), b, beta, got, c);
        ASSERT_TRUE(same_values(got, spread(before, c, c, before, beta)))
            << name(how) << " beta " << beta;
      }
}

// A C that has no room in the caches is written past them.
TEST(spmm, a_large_c_is_exact) {
  any_matrix const a = other_values(generate("poisson2d5:400"));
  std::size_t const width = 32;
  places const b = packed(a.cols(), width), c = packed(a.rows(), width);
  dense const from = to_dense(a.type(), integers(b.size(), 1));
  dense expected = constant(a.type(), c.size(), nan);
  multiply_dense(reference{}, 1, a, false, from, b, 0, expected, c);
  for (int const threads : {1, 2, 7}) {
    dense got = constant(a.type(), c.size(), nan);
    multiply_dense(cpu{.threads = threads}, 1, a, false, from, b, 0, got, c);
    EXPECT_TRUE(same_values(got, expected)) << threads;
  }
}

} // namespace
} // namespace tulle::test::spmm_test
