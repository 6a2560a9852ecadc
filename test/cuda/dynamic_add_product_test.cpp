// SPDX-License-Identifier: Apache-2.0

// A += B C on the device, A dynamic: the bits of spgemm, whatever the rows have already.
#include "tulle/gen/generate.hpp"
#include "tulle/op/spgemm.hpp"
#include "tulle/op/transpose.hpp"

#include "cuda/grown.hpp"
#include "device/memory.hpp"
#include "device/spgemm.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::device_dynamic_test {
namespace {

using csr_there = matrix::csr_there;

csr_there view_of(device_matrix const& a) {
  return a.view<csr_there>();
}

TEST(device_dynamic_product, is_that_of_spgemm_bit_for_bit) {
  auto check = [](csr<double> const& source, std::string const& name) {
    csr<double> const a = rough(source), b = transpose(a);
    std::size_t products = 0;
    for (std::int32_t const j : a.col)
      products += static_cast<std::size_t>(b.row_ptr[j + 1] - b.row_ptr[j]);
    if (products > (is_quick() ? 20'000 : 2'000'000)) // a column that is full makes all of C so
      return;
    csr<double> const expected = spgemm(a, b);
    device_matrix const a_there = upload(a), b_there = upload(b);
    matrix d(a.rows, a.rows);
    d.add_product(view_of(a_there), view_of(b_there));
    EXPECT_TRUE(d.shape().compact) << name; // nothing is left to be moved
    EXPECT_EQ(d.shape().entries, expected.val.size()) << name;
    EXPECT_EQ(d.to_csr(), expected) << name;
  };
  for (animal const& one : zoo())
    check(one.matrix, one.name);
  // Rows of every bin: stencils, groups of one pattern, scattered and long ones.
  check(from_lengths(3000, std::vector<std::int32_t>(3000, 3)), "scattered");
  check(from_lengths(90000, {3, 40000, 0, 2000, 9, 1, 1, 700, 64, 64}), "long rows");
  check(generate("poisson3d27:9"), "a stencil");
}

TEST(device_dynamic_product, has_the_same_bits_by_every_method) {
  csr<double> const a = rough(from_lengths(500, {1, 30, 0, 400, 9, 1, 1, 100, 64, 64}));
  csr<double> const b = rough(from_lengths(700, std::vector<std::int32_t>(500, 11), 4));
  device_matrix const a_there = upload(a), b_there = upload(b);
  for (std::size_t k = 0; k < spgemm_method_count; ++k) {
    auto const how = static_cast<spgemm_method>(k);
    matrix d(a.rows, b.cols);
    d.add_product(view_of(a_there), view_of(b_there), {.method = how});
    EXPECT_EQ(d.to_csr(), spgemm(a, b)) << name(how);
  }
}

// Rows take their products as the CPU's do, in the order they came.
TEST(device_dynamic_product, comes_behind_what_rows_have) {
  csr<double> const b = from_lengths(400, std::vector<std::int32_t>(400, 5), 7);
  csr<double> const c = from_lengths(400, std::vector<std::int32_t>(400, 4), 8);
  device_matrix const b_there = upload(b), c_there = upload(c);
  for (std::size_t const plus : {0, 3, 200}) // 200: there is room for the product
    for (int const segments : {2, 8})        // 2: rows come to an end of them
      for (on_duplicate const how :
           {on_duplicate::keep, on_duplicate::combine, on_duplicate::at_defragmenting})
        for (bool const mapped : {false, true}) {
          if (is_quick() && (mapped || plus == 3))
            continue;
          device_dynamic_options o;
          o.slack = {.factor = 0, .plus = plus};
          o.segments = segments;
          o.duplicates = how;
          o.mapped = mapped;
          dynamic_options o_here;
          o_here.duplicates = how;
          matrix d(400, 400, o);
          dynamic_csr<double> here(400, 400, o_here);
          std::mt19937 random(5);
          for (int turn = 0; turn < (is_quick() ? 2 : 5); ++turn) {
            auto const more = random_batch<double, std::int32_t>(random, 400, 400, 3000);
            auto const fewer = random_batch<double, std::int32_t>(random, 100, 400, 20000);
            d.insert(more.row, more.col, more.val);
            here.insert(more.row, more.col, more.val);
            if (turn % 2) {
              d.erase(fewer.row, fewer.col); // leaves rows with holes
              here.erase(fewer.row, fewer.col);
            }
            for (int times = 0; times < 3; ++times) { // 2: rows have several segments
              d.add_product(view_of(b_there), view_of(c_there));
              here.add_product(b.view(), c.view());
            }
            std::vector<double> x(400);
            for (std::size_t j = 0; j < x.size(); ++j)
              x[j] = static_cast<double>(j % 5) - 2;
            std::vector<double> y(400);
            spmv(1.0, here, x, 0.0, y);
            ASSERT_EQ(product({}, d, x), y); // of small integers: exact
            ASSERT_EQ(d.to_csr(), here.to_csr());
          }
          if (how == on_duplicate::keep) {
            EXPECT_EQ(d.shape().entries, here.shape().entries);
          }
        }
}

TEST(device_dynamic_product, is_stored_as_the_cpu_does) {
  csr<double> const a = other_values(generate("poisson2d5:40"));
  auto d = matrix::from_csr(a.view());
  auto here = dynamic_csr<double>::from_csr(a.view());
  device_matrix const there = upload(a);
  d.add_product(view_of(there), view_of(there));
  here.add_product(a.view(), a.view());
  EXPECT_TRUE(stored(d.download().snapshot()) == stored(here.snapshot()));
  auto const frozen = d.freeze(); // of itself: the pool moves while it is read
  d.add_product(frozen, view_of(there));
  here.add_product(here.freeze().as_csr(), a.view());
  EXPECT_TRUE(stored(d.download().snapshot()) == stored(here.snapshot()));
  auto const both = d.freeze();
  d.add_product(both, both);
  auto const both_here = here.freeze();
  here.add_product(both_here.as_csr(), both_here.as_csr());
  EXPECT_EQ(d.to_csr(), here.to_csr());
}

TEST(device_dynamic_product, takes_no_memory_for_a_product_of_its_own) {
  csr<double> const a = generate("poisson2d5:300");
  device_matrix const there = upload(a);
  auto const most_of = [&](auto&& f) {
    counted memory;
    device_dynamic_options o;
    o.where.memory = &memory;
    o.slack = {.factor = 0};
    matrix d(a.rows, a.cols, o);
    f(d, memory);
    return memory.most;
  };
  std::size_t const placed =
      most_of([&](matrix& d, counted&) { d.add_product(view_of(there), view_of(there)); });
  std::size_t const merged = most_of([&](matrix& d, counted& memory) {
    device_matrix const c = spgemm(cuda{.memory = &memory}, there, there);
    d.merge(view_of(c));
  });
  std::size_t const product = 12 * spgemm(a, a).val.size();
  EXPECT_GT(placed, product);
  EXPECT_LT(placed + product / 2, merged);
}

TEST(device_dynamic_product, refuses_what_does_not_fit_and_stays_as_it_was) {
  csr<double> const a = from_lengths(10, std::vector<std::int32_t>(10, 3));
  csr<double> const b = from_lengths(20, std::vector<std::int32_t>(10, 20));
  device_matrix const a_there = upload(a), b_there = upload(b);
  device_dynamic_options o;
  o.limit = 210;
  matrix d(10, 20, o);
  d.insert(std::vector<std::int32_t>(20, 1), std::vector<std::int32_t>(20, 1),
           std::vector<double>(20, 1));
  csr<double> const before = matrix::from_csr(d.freeze()).to_csr();
  auto refused = [&](errc code, std::vector<std::string> const& words, auto&& f) {
    EXPECT_TRUE(fails_with(code, words, f));
    EXPECT_EQ(d.shape().entries, 20u);
    EXPECT_EQ(d.to_csr(), before);
  };
  refused(errc::shape_mismatch, {"add_product: B is 10 x 20 but C is 10 x 20"},
          [&] { d.add_product(view_of(b_there), view_of(b_there)); });
  refused(errc::shape_mismatch, {"add_product: B C is 10 x 10, A is 10 x 20"},
          [&] { d.add_product(view_of(a_there), view_of(a_there)); });
  refused(errc::out_of_memory, {"the limit is 210"}, // of 220
          [&] { d.add_product(view_of(a_there), view_of(b_there)); });
  device_matrix const nothing = upload(from_lengths(20, std::vector<std::int32_t>(10, 0)));
  d.add_product(view_of(a_there), view_of(nothing));
  EXPECT_EQ(d.shape().entries, 20u);
  o.limit = 230; // the slack of rows gives way
  o.slack = {.factor = 0, .plus = 2};
  matrix e(10, 20, o);
  e.insert(std::vector<std::int32_t>(20, 1), std::vector<std::int32_t>(20, 1),
           std::vector<double>(20, 1));
  e.add_product(view_of(a_there), view_of(b_there));
  EXPECT_EQ(e.shape().entries, 220u);
}

} // namespace
} // namespace tulle::test::device_dynamic_test
