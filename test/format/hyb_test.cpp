// SPDX-License-Identifier: Apache-2.0

// hyb: the matrices of the papers, array by array; the width by its rule; arrays that are none.
#include "tulle/format/hyb.hpp"

#include "support/expect.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

namespace tulle::test::hyb_test {
namespace {

using ints = std::vector<std::int32_t>;
using doubles = std::vector<double>;
using words = std::vector<std::string>;
using owned_ints = array<std::int32_t>;
using owned_doubles = array<double>;

template <class T>
array<T> owned(std::vector<T> const& v) {
  return {v.data(), v.size()};
}

/// Rows of these lengths, each from column 0 on.
csr<double> of_lengths(ints const& lengths) {
  owned_ints ptr(lengths.size() + 1);
  ptr[0] = 0;
  std::int32_t longest = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    ptr[i + 1] = ptr[i] + lengths[i];
    longest = std::max(longest, lengths[i]);
  }
  auto const nnz = static_cast<std::size_t>(ptr.back());
  owned_ints col(nnz);
  owned_doubles val(nnz);
  std::iota(val.begin(), val.end(), 1.0);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    std::iota(col.data() + ptr[i], col.data() + ptr[i + 1], 0);
  return {static_cast<std::int32_t>(lengths.size()), longest, std::move(ptr), std::move(col),
          std::move(val)};
}

// Kirk & Hwu, figure 10.13: the last entry of row 2 moves to coo, two slots of padding are left.
TEST(hyb, kirk_hwu_figure_10_13) {
  csr<double> const a(4, 4, {0, 2, 2, 5, 7}, {0, 2, 1, 2, 3, 0, 3}, {3, 1, 2, 4, 1, 1, 1});
  auto const b = hyb<double>::from_csr(a.view());
  EXPECT_EQ(b.width, 2);
  EXPECT_EQ(b.row_len, (owned_ints{2, 0, 2, 2}));
  EXPECT_EQ(b.col, (owned_ints{0, 0, 1, 0, 2, 0, 2, 3}));
  EXPECT_EQ(b.val, (owned_doubles{3, 0, 2, 1, 1, 0, 4, 1}));
  EXPECT_EQ(b.coo_row, (owned_ints{2}));
  EXPECT_EQ(b.coo_col, (owned_ints{3}));
  EXPECT_EQ(b.coo_val, (owned_doubles{1}));
  EXPECT_EQ(b.to_csr(), a);
}

// As Liu, figure 5.8, tells it: all but the last three entries of the third row are in ell.
TEST(hyb, the_last_three_entries_of_the_third_row_as_in_liu_figure_5_8) {
  csr<double> const a(6, 6, {0, 1, 2, 6, 7, 8, 9}, {0, 2, 0, 1, 2, 3, 3, 4, 5},
                      {1, 1, 1, 2, 3, 4, 1, 1, 1});
  auto const b = hyb<double>::from_csr(a.view());
  EXPECT_EQ(b.width, 1);
  EXPECT_EQ(b.row_len, owned_ints(6, 1));
  EXPECT_EQ(b.col, (owned_ints{0, 2, 0, 3, 4, 5}));
  EXPECT_EQ(b.val, owned_doubles(6, 1.0));
  EXPECT_EQ(b.coo_row, (owned_ints{2, 2, 2}));
  EXPECT_EQ(b.coo_col, (owned_ints{1, 2, 3}));
  EXPECT_EQ(b.coo_val, (owned_doubles{2, 3, 4}));
  EXPECT_EQ(b.to_csr(), a);
}

// Liu's A_3, figure 5.5, which ell pads to four: a third of its rows reach two.
TEST(hyb, liu_figure_5_5_is_half_as_wide_as_in_ell) {
  csr<double> const a(6, 6, {0, 1, 2, 6, 6, 6, 8}, {0, 2, 0, 1, 2, 3, 4, 5},
                      {1, 1, 1, 2, 3, 4, 1, 2});
  auto const b = hyb<double>::from_csr(a.view());
  EXPECT_EQ(b.width, 2);
  EXPECT_EQ(b.row_len, (owned_ints{1, 1, 2, 0, 0, 2}));
  EXPECT_EQ(b.col, (owned_ints{0, 2, 0, 0, 0, 4, 0, 2, 1, 0, 0, 5}));
  EXPECT_EQ(b.val, (owned_doubles{1, 1, 1, 0, 0, 1, 0, 0, 2, 0, 0, 2}));
  EXPECT_EQ(b.coo_col, (owned_ints{2, 3}));
  EXPECT_EQ(b.coo_val, (owned_doubles{3, 4}));
}

TEST(hyb, the_width_is_the_largest_that_a_third_of_the_rows_reach) {
  struct {
    ints lengths;
    std::int32_t width;
  } const cases[] = {
      {{}, 0},
      {{0, 0, 0}, 0},
      {{5}, 5},
      {{5, 0, 0}, 5},
      {{5, 0, 0, 0}, 0}, // one of four is less than a third
      {{5, 3, 0, 0}, 3},
      {{1, 2, 3}, 3},
      {{1, 2, 3, 4, 5, 6}, 5},
      {{1, 2, 3, 4, 5, 6, 7}, 5}, // three of seven reach five, two reach six
      {{2, 2, 2, 2, 2, 1000}, 2},
      {{7, 7, 7, 7}, 7},
  };
  for (auto const& c : cases) {
    csr<double> const a = of_lengths(c.lengths);
    auto const b = hyb<double>::from_csr(a.view());
    EXPECT_EQ(b.width, c.width) << testing::PrintToString(c.lengths);
    EXPECT_EQ(b.to_csr(), a) << testing::PrintToString(c.lengths);
  }
}

TEST(hyb, a_width_that_is_asked_for_is_kept_up_to_the_longest_row) {
  csr<double> const a = of_lengths({1, 2, 3, 4, 5, 6});
  for (int const width : {1, 4, 6, 7, 1000}) {
    auto const b = hyb<double>::from_csr(a.view(), {.width = width});
    EXPECT_EQ(b.width, std::min(width, 6));
    EXPECT_EQ(b.to_csr(), a);
  }
}

struct broken {
  char const* what;
  std::int32_t rows, cols, width;
  std::size_t stride;
  ints row_len, col;
  doubles val;
  ints coo_row, coo_col;
  doubles coo_val;
  words expected;
};

TEST(hyb, broken_arrays_are_refused_by_every_constructor) {
  // Two rows of three columns; row 0 is full in ell, row 1 not.
  std::vector<broken> const cases = {
      {"rows negative", -1, 3, 0, 0, {}, {}, {}, {}, {}, {}, {"hyb", "-1"}},
      {"width negative", 2, 3, -1, 2, {0, 0}, {}, {}, {}, {}, {}, {"hyb", "width is -1"}},
      {"stride short", 2, 3, 1, 1, {0, 0}, {0}, {0}, {}, {}, {}, {"hyb", "stride is 1"}},
      {"length above the width", 2, 3, 1, 2, {2, 0}, {0, 0}, {1, 0}, {}, {}, {}, {"row_len[0]"}},
      {"column at the limit", 2, 3, 1, 2, {1, 0}, {3, 0}, {1, 0}, {}, {}, {}, {"col[0] is 3"}},
      {"padding not 0", 2, 3, 1, 2, {1, 0}, {0, 0}, {1, 2}, {}, {}, {}, {"val[1]", "padding"}},
      {"columns descend", 1, 3, 2, 1, {2}, {2, 1}, {1, 1}, {}, {}, {}, {"col[1] is 1 after 2"}},
      {"coo: a row missing", 2, 3, 1, 2, {1, 0}, {0, 0}, {1, 0}, {}, {1}, {1}, {"0 row", "1 col"}},
      {"coo: a column missing", 2, 3, 1, 2, {1, 0}, {0, 0}, {1, 0}, {0}, {}, {1}, {"0 column"}},
      {"coo: a value missing", 2, 3, 1, 2, {1, 0}, {0, 0}, {1, 0}, {0}, {1}, {}, {"0 values"}},
      {"coo: row negative",
       2,
       3,
       1,
       2,
       {1, 0},
       {0, 0},
       {1, 0},
       {-1},
       {1},
       {1},
       {"coo_row[0] is -1"}},
      {"coo: row at the limit", 2, 3, 1, 2, {1, 0}, {0, 0}, {1, 0}, {2}, {1}, {1}, {"[0, 2)"}},
      {"coo: column negative", 2, 3, 1, 2, {1, 0}, {0, 0}, {1, 0}, {0}, {-1}, {1}, {"coo_col[0]"}},
      {"coo: column at the limit", 2, 3, 1, 2, {1, 0}, {0, 0}, {1, 0}, {0}, {3}, {1}, {"[0, 3)"}},
      {"coo: in a row that is not full",
       2,
       3,
       1,
       2,
       {1, 0},
       {0, 0},
       {1, 0},
       {1},
       {1},
       {1},
       {"coo[0]", "row 1", "0 of 1"}},
      {"coo: before the last in ell",
       2,
       3,
       1,
       2,
       {1, 0},
       {1, 0},
       {1, 0},
       {0},
       {0},
       {1},
       {"coo_col[0] is 0 after 1", "row 0"}},
      {"coo: the last in ell again",
       2,
       3,
       1,
       2,
       {1, 0},
       {1, 0},
       {1, 0},
       {0},
       {1},
       {1},
       {"coo_col[0] is 1 after 1"}},
      {"coo: columns descend",
       1,
       3,
       1,
       1,
       {1},
       {0},
       {1},
       {0, 0},
       {2, 1},
       {1, 1},
       {"coo_col[1] is 1 after 2"}},
      {"coo: a column twice",
       1,
       3,
       0,
       1,
       {0},
       {},
       {},
       {0, 0},
       {1, 1},
       {1, 1},
       {"coo_col[1] is 1 after 1"}},
      {"coo: rows descend",
       2,
       3,
       0,
       2,
       {0, 0},
       {},
       {},
       {1, 0},
       {1, 1},
       {1, 1},
       {"coo_row[1] is 0 after 1"}},
  };
  for (broken const& b : cases) {
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] {
      hyb_view<double>(b.rows, b.cols, b.width, b.stride, b.row_len, b.col, b.val, b.coo_row,
                       b.coo_col, b.coo_val);
    })) << b.what;
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] {
      hyb<double>(b.rows, b.cols, b.width, b.stride, owned(b.row_len), owned(b.col), owned(b.val),
                  owned(b.coo_row), owned(b.coo_col), owned(b.coo_val));
    })) << b.what;
    hyb<double> const unseen(unchecked,
                             ell<double>(unchecked, b.rows, b.cols, 0, b.width, b.stride,
                                         owned(b.row_len), owned(b.col), owned(b.val)),
                             coo<double>(unchecked, b.rows, b.cols, owned(b.coo_row),
                                         owned(b.coo_col), owned(b.coo_val)));
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] { unseen.validate(); })) << b.what;
  }
}

TEST(hyb, a_number_of_entries_that_is_not_that_of_the_parts_is_refused) {
  hyb<double> b(2, 3, 1, 2, {1, 1}, {0, 1}, {1, 1}, {1}, {2}, {5});
  EXPECT_EQ(b.nnz, 3);
  b.nnz = 2;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"2 entries"}, [&] { b.validate(); }));
  b.nnz = 0;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"0 entries", "1 of them"}, [&] { b.validate(); }));
}

TEST(hyb, null_with_a_size_is_refused) {
  ints const two = {1, 1};
  doubles const val = {1, 2};
  std::span<std::int32_t const> const no_ints(static_cast<std::int32_t const*>(nullptr), 2);
  std::span<double const> const no_values(static_cast<double const*>(nullptr), 2);
  auto const refused = [&](words const& w, auto row, auto col, auto v) {
    EXPECT_TRUE(fails_with(errc::bad_structure, w,
                           [&] { hyb_view<double>(2, 9, 1, 2, two, two, val, row, col, v); }));
  };
  std::span<std::int32_t const> const ok(two);
  refused({"hyb: coo_row", "null", "2"}, no_ints, ok, std::span<double const>(val));
  refused({"hyb: coo_col", "null", "2"}, ok, no_ints, std::span<double const>(val));
  refused({"hyb: coo_val", "null", "2"}, ok, ok, no_values);
}

TEST(hyb, ordinary_emptiness_is_accepted) {
  EXPECT_NO_THROW(
      hyb_view<double>(0, 0, 0, 0, ints{}, ints{}, doubles{}, ints{}, ints{}, doubles{}));
  EXPECT_NO_THROW(
      hyb_view<double>(2, 0, 0, 2, ints{0, 0}, ints{}, doubles{}, ints{}, ints{}, doubles{}));
}

TEST(hyb, options_that_make_no_sense_are_refused) {
  csr<double> const a = of_lengths({1, 2, 3});
  EXPECT_TRUE(fails_with(errc::unsupported, {"hyb", "width", "-1", "0 or more"},
                         [&] { hyb<double>::from_csr(a.view(), {.width = -1}); }));
  for (double const limit : {0.0, -1.0, std::nan("")})
    EXPECT_TRUE(fails_with(errc::unsupported, {"hyb", "limit", "above 0"},
                           [&] { hyb<double>::from_csr(a.view(), {.limit = limit}); }));
}

TEST(hyb, a_matrix_above_the_limit_is_refused_and_the_rule_keeps_below_it) {
  ints lengths(4000, 0);
  lengths[7] = 1000;
  csr<double> const a = of_lengths(lengths);
  EXPECT_TRUE(fails_with(errc::unsupported, {"hyb", "times those of csr", "limit is 8"},
                         [&] { hyb<double>::from_csr(a.view(), {.width = 1000}); }));
  EXPECT_EQ(hyb<double>::from_csr(a.view()).to_csr(), a);
}

} // namespace
} // namespace tulle::test::hyb_test
