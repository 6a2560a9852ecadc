// SPDX-License-Identifier: Apache-2.0

// A += B C: the bits of spgemm, whatever the rows have already.
#include "tulle/op/spgemm.hpp"
#include "tulle/op/transpose.hpp"

#include "dynamic/model.hpp"
#include "support/expect.hpp"

namespace tulle::test::product_test {
namespace {

using matrix = dynamic_csr<double>;

dynamic_options with_threads(int threads) {
  dynamic_options o = in_rows();
  o.where.threads = threads;
  return o;
}

TEST(dynamic_product, is_that_of_spgemm_bit_for_bit) {
  auto check = [](csr<double> const& source, std::string const& name) {
    csr<double> const a = rough(source);
    csr<double> const b = transpose(a);
    std::size_t products = 0;
    for (std::int32_t const j : a.col)
      products += static_cast<std::size_t>(b.row_ptr[j + 1] - b.row_ptr[j]);
    if (products > 2'000'000) // a column that is full makes all of C so
      return;
    csr<double> const expected = spgemm(a, b);
    for (int const threads : {1, 3}) {
      matrix d(a.rows, a.rows, with_threads(threads));
      d.add_product(a.view(), b.view());
      d.validate();
      EXPECT_EQ(d.to_csr(), expected) << name;
      EXPECT_EQ(d.shape().entries, expected.val.size()) << name;
    }
  };
  for (animal const& one : zoo())
    check(one.matrix, one.name);
  // Rows by every method: stencils, groups of one pattern, scattered and long ones.
  check(from_lengths(3000, std::vector<std::int32_t>(3000, 3)), "scattered");
  check(from_lengths(90000, {3, 40000, 0, 2000, 9, 1, 1, 700, 64, 64}), "long rows");
}

TEST(dynamic_product, has_the_same_bits_by_every_method) {
  csr<double> const a = rough(from_lengths(500, {1, 30, 0, 400, 9, 1, 1, 100, 64, 64}));
  csr<double> const b = rough(from_lengths(700, std::vector<std::int32_t>(500, 11), 4));
  for (std::size_t k = 0; k < spgemm_method_count; ++k) {
    auto const how = static_cast<spgemm_method>(k);
    matrix d(a.rows, b.cols);
    d.add_product(a.view(), b.view(), {.method = how});
    d.validate();
    EXPECT_EQ(d.to_csr(), spgemm(a, b)) << name(how);
  }
}

TEST(dynamic_product, comes_behind_what_rows_have) {
  csr<double> const b = from_lengths(400, std::vector<std::int32_t>(400, 5), 7);
  csr<double> const c = from_lengths(400, std::vector<std::int32_t>(400, 4), 8);
  for (std::size_t const width : {0, 200})         // 200: there is room for the product
    for (std::size_t const move_below : {0, 1000}) // 1000: rows move
      for (int const segments : {1, 2, 8}) {
        batch<double, std::int32_t> first;
        dynamic_shape first_shape;
        for (int const threads : {1, 2, 7}) {
          dynamic_options o = with_threads(threads);
          o.width = width;
          o.move_below = move_below;
          o.segments = segments;
          o.waste = 0;
          matrix d(400, 400, o);
          model<double, std::int32_t> m{400, 400, {}};
          auto const as_model = [](csr<double> const& a) {
            model<double, std::int32_t> of{a.rows, a.cols, {}};
            for (std::int32_t i = 0; i < a.rows; ++i)
              for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
                of.at[{i, a.col[k]}] = a.val[k];
            return of;
          };
          std::mt19937 random(5);
          for (int turn = 0; turn < 4; ++turn) {
            auto const more = random_batch<double, std::int32_t>(random, 400, 400, 3000);
            d.insert(more.row, more.col, more.val);
            m.insert(more);
            auto const fewer = random_batch<double, std::int32_t>(random, 100, 400, 20000);
            d.erase(fewer.row, fewer.col); // leaves segments without entries
            m.erase(fewer);
            d.add_product(b.view(), c.view());
            m.add_product(as_model(b), as_model(c));
            d.validate();
            EXPECT_EQ(d.to_csr(), m.to_csr());
          }
          auto const s = d.shape();
          if (threads == 1) {
            first = stored(d.snapshot());
            first_shape = s;
          }
          EXPECT_TRUE(stored(d.snapshot()) == first) << threads << " threads";
          EXPECT_EQ(s.places, first_shape.places);
          EXPECT_EQ(s.left, first_shape.left);
        }
      }
}

TEST(dynamic_product, takes_the_matrix_itself_and_leaves_snapshots_alone) {
  csr<double> const a = from_lengths(200, std::vector<std::int32_t>(200, 2), 3);
  matrix d = matrix::from_csr(a.view());
  auto const before = d.freeze();
  d.add_product(before.as_csr(), before.as_csr());
  EXPECT_EQ(before.to_csr(), a.to_csr());
  matrix expected = matrix::from_csr(a.view());
  expected.merge(borrowed(spgemm(a, a)));
  EXPECT_EQ(d.to_csr(), expected.to_csr());
}

TEST(dynamic_product, combines_duplicates_where_it_is_asked_to) {
  dynamic_options o;
  o.duplicates = on_duplicate::combine;
  csr<double> const a = from_lengths(50, std::vector<std::int32_t>(50, 5));
  matrix d(50, 50, o);
  d.add_product(a.view(), a.view());
  d.add_product(a.view(), a.view());
  EXPECT_EQ(d.shape().entries, spgemm(a, a).val.size());
}

TEST(dynamic_product, refuses_what_does_not_fit_and_stays_as_it_was) {
  dynamic_options o;
  o.limit = 512;
  matrix d(10, 20, o);
  d.insert(1, 1, 1);
  csr<double> const a = from_lengths(10, std::vector<std::int32_t>(10, 3));
  csr<double> const b = from_lengths(20, std::vector<std::int32_t>(10, 20));
  auto refused = [&](errc code, std::vector<std::string> const& words, auto&& f) {
    EXPECT_TRUE(fails_with(code, words, f));
    EXPECT_EQ(d.shape().entries, 1u);
    EXPECT_EQ(d.at(1, 1), 1);
    d.validate();
  };
  refused(errc::shape_mismatch, {"A is 10 x 20 but B is 10 x 20"},
          [&] { d.add_product(b.view(), b.view()); });
  refused(errc::shape_mismatch, {"add_product: B C is 10 x 10, A is 10 x 20"},
          [&] { d.add_product(a.view(), a.view()); });
  d.add_product(a.view(), borrowed(from_lengths(20, std::vector<std::int32_t>(10, 0))));
  d.validate();
  EXPECT_EQ(d.shape().entries, 1u);
  o.limit = 100;
  matrix small(10, 20, o);
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"the limit is 100"},
                         [&] { small.add_product(a.view(), b.view()); }));
  EXPECT_EQ(small.shape().entries, 0u);
}

} // namespace
} // namespace tulle::test::product_test
