// SPDX-License-Identifier: Apache-2.0

// The same bits for every number of threads, on every run, with a plan and without.
#include "tulle/core/machine.hpp"
#include "tulle/format/coo.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/product.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::spmv_bits_test {
namespace {

void expect_same_bits(any_matrix const& csr, std::string const& what) {
  type_tag const type = csr.type();
  for_each_layout(csr, [&](std::string const& layout, any_matrix const& a) {
    dense x[2], y[2], first[2]; // of a, and of its transpose
    for (bool const transposed : {false, true}) {
      x[transposed] = to_dense(type, roughs(transposed ? a.rows() : a.cols(), 1));
      y[transposed] = to_dense(type, roughs(transposed ? a.cols() : a.rows(), 2));
      first[transposed] = y[transposed];
      multiply(cpu{.threads = 1}, 0.75, a, transposed, x[transposed], -1.25, first[transposed]);
    }
    // What options change is what units are, not how they are dealt.
    for (int const threads :
         is_default(layout) ? (is_sanitized ? std::vector{3} : std::vector{1, 2, 3, 5, 7, 16, 64})
                            : std::vector{2, 7})
      for (bool const transposed : {false, true}) {
        cpu const w{.threads = threads};
        dense unplanned = y[transposed];
        multiply(w, 0.75, a, transposed, x[transposed], -1.25, unplanned);
        ASSERT_TRUE(same_bits(unplanned, first[transposed]))
            << what << " " << layout << (transposed ? " transposed " : " ") << threads;
        spmv_plan plan = make_plan(w, a, transposed);
        for (int run = 0; run < 2; ++run) { // the second with what the first left in the workspace
          dense planned = y[transposed];
          multiply(w, 0.75, a, transposed, x[transposed], -1.25, planned, &plan);
          ASSERT_TRUE(same_bits(planned, first[transposed]))
              << what << " " << plan.path() << " run " << run;
        }
      }
  });
}

class spmv_bits : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(spmv, spmv_bits, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(spmv_bits, do_not_depend_on_threads) {
  for (char const* const which :
       {"lengths_0_to_70", "six_rows_of_8191", "six_rows_of_8192", "tile_begins_with_empty_rows",
        "row_over_many_tiles", "long_rows_with_crumbs", "skewed", "banded", "blocks_merged_to_two",
        "blocks_over_all_columns", "20000_empty_rows", "symmetric_banded", "symmetric_scattered"})
    expect_same_bits(as_type(rough(find(which).matrix), static_cast<type_tag>(GetParam())), which);
}

// Tiles for each of 64 threads, and 64 blocks.
TEST(spmv_bits, do_not_depend_on_threads_where_all_of_64_have_work) {
  if (is_sanitized)
    GTEST_SKIP() << "a minute";
  for (type_tag const t : {type_tag::f64_i32, type_tag::f32_i64, type_tag::c32_i32_i64})
    expect_same_bits(as_type(elephant(), t), name(t));
}

// Rows that no conversion has sorted.
TEST(spmv_bits, do_not_depend_on_threads_for_unsorted_rows) {
  for (char const* const which : {"skewed_unsorted_duplicates", "banded_unsorted"}) {
    csr<double> const a = rough(find(which).matrix);
    for (bool const transposed : {false, true}) {
      dense const x = to_dense(type_tag::f64_i32,
                               roughs(static_cast<std::size_t>(transposed ? a.rows : a.cols), 1));
      dense const none =
          constant(type_tag::f64_i32, static_cast<std::size_t>(transposed ? a.cols : a.rows), 0);
      dense first = none;
      any_matrix const m = a;
      multiply(cpu{.threads = 1}, 1, m, transposed, x, 0, first);
      for (int const threads : {2, 3, 7, 64}) {
        dense y = none;
        multiply(cpu{.threads = threads}, 1, m, transposed, x, 0, y);
        EXPECT_TRUE(same_bits(y, first)) << which << " " << threads;
      }
    }
  }
}

// Coordinates in no order at all, where the entries of a row lie far apart.
TEST(spmv_bits, do_not_depend_on_threads_for_shuffled_coordinates) {
  coo<double> a = coo<double>::from_csr(borrowed(elephant()));
  std::size_t const n = a.val.size();
  coo<double> const sorted = a;
  for (std::size_t k = 0; k < n; ++k) { // 7919 is prime and does not divide n
    std::size_t const from = k * 7919 % n;
    a.row[k] = sorted.row[from];
    a.col[k] = sorted.col[from];
    a.val[k] = sorted.val[from];
  }
  ASSERT_NE(n % 7919, 0u);
  any_matrix const m = a;
  any_matrix const as_csr = elephant();
  for (bool const transposed : {false, true}) {
    std::size_t const rows = transposed ? m.cols() : m.rows();
    dense const x = to_dense(m.type(), roughs(transposed ? m.rows() : m.cols(), 1));
    dense const none = constant(m.type(), rows, 0);
    dense first = none;
    multiply(cpu{.threads = 1}, 1, m, transposed, x, 0, first);
    product const p = exact_product(as_csr, transposed, x);
    EXPECT_TRUE(is_product(p, 1, 0, none, first, epsilon(m.type()), 8));
    for (int const threads : {2, 3, 7, 64}) {
      dense y = none;
      multiply(cpu{.threads = threads}, 1, m, transposed, x, 0, y);
      EXPECT_TRUE(same_bits(y, first)) << threads;
    }
  }
}

// What passes the last-level cache by takes another loop, with prefetches.
TEST(spmv_bits, streaming_loop_is_exact_and_does_not_depend_on_threads) {
  std::size_t const cache = machine::here().l3 ? machine::here().l3 : std::size_t{16} << 20;
  std::size_t const entries = cache / 2 / 12 + 50000;
  if (entries > 6'000'000)
    GTEST_SKIP() << "a matrix of " << entries << " entries would be wanted";
  std::vector<std::int32_t> lengths(entries / 23 + 1, 23);
  lengths[100] = 30000;
  any_matrix const a = from_lengths(30000, lengths);
  dense const x = to_dense(a.type(), integers(a.cols(), 1));
  product const p = exact_product(a, false, x);
  for (int const threads : {1, 2, 7}) {
    dense y = constant(a.type(), a.rows(), 0);
    multiply(cpu{.threads = threads}, 1, a, false, x, 0, y);
    EXPECT_TRUE(is_product(p, 1, 0, y, y, 0, 0)) << threads;
  }
}

// A y of more than 2 MiB is written past the caches, and slides through a buffer where one triangle
// is stored.
TEST(spmv_bits, large_grids_are_exact_and_do_not_depend_on_threads) {
  for (char const* const grid : {"poisson2d5:540", "poisson3d27:66"}) {
    csr<double> const made = generate(grid);
    for (type_tag const t : {type_tag::f64_i32, type_tag::f32_i64}) {
      any_matrix const csr = as_type(other_values(made), t);
      dense const x = to_dense(t, integers(csr.cols(), 1));
      dense const y = to_dense(t, integers(csr.rows(), 2));
      product const p = exact_product(csr, false, x);
      for (char const* const text : {"dia", "dia:symmetric=true", "sell", "bcsr:symmetric=true"}) {
        any_matrix const a = convert(csr, layout::parse(text));
        for (int const threads : {1, 2, 7}) {
          dense got = y;
          multiply(cpu{.threads = threads}, 2, a, false, x, -1, got);
          EXPECT_TRUE(is_product(p, 2, -1, y, got, 0, 0)) << grid << " " << text << " " << threads;
        }
      }
    }
  }
}

} // namespace
} // namespace tulle::test::spmv_bits_test
