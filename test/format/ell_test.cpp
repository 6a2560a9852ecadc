// SPDX-License-Identifier: Apache-2.0

// ell: the matrices of the papers, array by array; arrays that are none; the limit.
#include "tulle/format/ell.hpp"

#include "support/expect.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::ell_test {
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

// Liu, figure 5.4, column by column; padding (* there) is the row's last column and 0.
TEST(ell, liu_figure_5_4) {
  csr<double> const a(6, 6, {0, 2, 5, 9, 13, 16, 18},
                      {0, 1, 0, 1, 2, 0, 1, 2, 3, 2, 3, 4, 5, 3, 4, 5, 4, 5},
                      {1, 2, 1, 2, 3, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 1, 2});
  auto const b = ell<double>::from_csr(a.view());
  EXPECT_EQ(b.width, 4);
  EXPECT_EQ(b.stride, 6u);
  EXPECT_EQ(b.row_len, (owned_ints{2, 3, 4, 4, 3, 2}));
  EXPECT_EQ(b.col, (owned_ints{0, 0, 0, 2, 3, 4, //
                               1, 1, 1, 3, 4, 5, //
                               1, 2, 2, 4, 5, 5, //
                               1, 2, 3, 5, 5, 5}));
  EXPECT_EQ(b.val, (owned_doubles{1, 1, 1, 1, 1, 1, //
                                  2, 2, 2, 2, 2, 2, //
                                  0, 3, 3, 3, 3, 0, //
                                  0, 0, 4, 4, 0, 0}));
  EXPECT_EQ(b.to_csr(), a);
}

// Liu, figure 5.5: rows without entries are padding throughout, in column 0.
TEST(ell, liu_figure_5_5) {
  csr<double> const a(6, 6, {0, 1, 2, 6, 6, 6, 8}, {0, 2, 0, 1, 2, 3, 4, 5},
                      {1, 1, 1, 2, 3, 4, 1, 2});
  auto const b = ell<double>::from_csr(a.view());
  EXPECT_EQ(b.width, 4);
  EXPECT_EQ(b.row_len, (owned_ints{1, 1, 4, 0, 0, 2}));
  EXPECT_EQ(b.col, (owned_ints{0, 2, 0, 0, 0, 4, //
                               0, 2, 1, 0, 0, 5, //
                               0, 2, 2, 0, 0, 5, //
                               0, 2, 3, 0, 0, 5}));
  EXPECT_EQ(b.val, (owned_doubles{1, 1, 1, 0, 0, 1, //
                                  0, 0, 2, 0, 0, 2, //
                                  0, 0, 3, 0, 0, 0, //
                                  0, 0, 4, 0, 0, 0}));
  EXPECT_EQ(b.to_csr(), a);
}

// Kirk & Hwu, figures 10.8 and 10.9: data[2] is the first of row 2, data[2 + 4] its next.
TEST(ell, kirk_hwu_figure_10_9) {
  csr<double> const a(4, 4, {0, 2, 2, 5, 7}, {0, 2, 1, 2, 3, 0, 3}, {3, 1, 2, 4, 1, 1, 1});
  auto const b = ell<double>::from_csr(a.view());
  EXPECT_EQ(b.row_len, (owned_ints{2, 0, 3, 2}));
  EXPECT_EQ(b.col, (owned_ints{0, 0, 1, 0, 2, 0, 2, 3, 2, 0, 3, 3}));
  EXPECT_EQ(b.val, (owned_doubles{3, 0, 2, 1, 1, 0, 4, 1, 0, 0, 1, 0}));
  EXPECT_EQ(b.to_csr(), a);
}

// Kirk & Hwu, exercise 10.3.
TEST(ell, kirk_hwu_exercise_10_3) {
  csr<double> const a(4, 4, {0, 2, 3, 5, 7}, {0, 2, 2, 1, 2, 0, 3}, {1, 7, 8, 4, 3, 2, 1});
  auto const b = ell<double>::from_csr(a.view());
  EXPECT_EQ(b.row_len, (owned_ints{2, 1, 2, 2}));
  EXPECT_EQ(b.col, (owned_ints{0, 2, 1, 0, 2, 2, 2, 3}));
  EXPECT_EQ(b.val, (owned_doubles{1, 8, 4, 2, 7, 0, 3, 1}));
}

TEST(ell, stored_zeros_are_entries_and_padding_is_not) {
  csr<double> const a(2, 3, {0, 1, 3}, {2, 0, 2}, {0, 5, 0});
  auto const b = ell<double>::from_csr(a.view());
  EXPECT_EQ(b.nnz, 3);
  EXPECT_EQ(b.to_csr(), a);
}

TEST(ell, columns_of_many_rows_are_aligned_and_lie_in_different_sets_of_a_cache) {
  for (std::int32_t const rows : {64, 65, 100, 1024, 4096, 5000}) {
    csr<double> a(unchecked, rows, 3, owned_ints(static_cast<std::size_t>(rows) + 1),
                  owned_ints(static_cast<std::size_t>(rows), 1),
                  owned_doubles(static_cast<std::size_t>(rows), 2.0));
    for (std::int32_t i = 0; i <= rows; ++i)
      a.row_ptr[static_cast<std::size_t>(i)] = i;
    auto const b = ell<double>::from_csr(a.view());
    EXPECT_GE(b.stride, static_cast<std::size_t>(rows));
    EXPECT_LT(b.stride, static_cast<std::size_t>(rows) + 32);
    EXPECT_EQ(b.stride % 32, 16u) << rows;
    EXPECT_EQ(b.to_csr(), a);
  }
}

// The caller's own arrays, columns as far apart as they are there.
TEST(ell, a_view_takes_any_stride) {
  ints const row_len = {1, 2};
  ints const col = {1, 0, 0, 0, 0, 0, 2, 2, 0, 0};
  doubles const val = {7, 8, 0, 0, 0, 0, 9, 0, 0, 0};
  ell_view<double> const v(2, 3, 2, 5, row_len, col, val);
  EXPECT_EQ(v.nnz, 3);
  EXPECT_EQ(v.to_csr(), (csr<double>(2, 3, {0, 1, 3}, {1, 0, 2}, {7, 8, 9})));
}

struct broken {
  char const* what;
  std::int32_t rows, cols, width;
  std::size_t stride;
  ints row_len, col;
  doubles val;
  errc code;
  words expected;
};

TEST(ell, broken_arrays_are_refused_by_every_constructor) {
  std::int32_t const most = std::numeric_limits<std::int32_t>::max();
  errc const bad = errc::bad_structure;
  std::vector<broken> const cases = {
      {"rows negative", -1, 3, 0, 0, {}, {}, {}, bad, {"-1", "3"}},
      {"columns negative", 2, -3, 0, 2, {0, 0}, {}, {}, bad, {"2", "-3"}},
      {"width negative", 2, 3, -1, 2, {0, 0}, {}, {}, bad, {"width is -1"}},
      {"stride short", 2, 3, 1, 1, {0, 0}, {0}, {0}, bad, {"stride is 1", "2 rows"}},
      {"stride far too long", 2, 3, 4, SIZE_MAX / 2, {0, 0}, {}, {}, errc::overflow, {"4"}},
      {"a length missing", 2, 3, 1, 2, {1}, {0, 0}, {1, 1}, bad, {"1 row lengths", "2 rows"}},
      {"a length too many", 1, 3, 1, 1, {1, 1}, {0}, {1}, bad, {"2 row lengths", "1 rows"}},
      {"a column missing", 2, 3, 1, 2, {1, 1}, {0}, {1, 1}, bad, {"1 columns", "2 values", "2"}},
      {"a value missing", 2, 3, 1, 2, {1, 1}, {0, 1}, {1}, bad, {"2 columns", "1 values", "2"}},
      {"a length negative", 2, 3, 1, 2, {1, -1}, {0, 0}, {1, 0}, bad, {"row_len[1] is -1", "1]"}},
      {"a length above the width",
       2,
       3,
       1,
       2,
       {2, 1},
       {0, 0},
       {1, 1},
       bad,
       {"row_len[0] is 2", "[0, 1]"}},
      {"a length far above", 1, 3, 1, 1, {most}, {0}, {1}, bad, {"row_len[0] is 2147483647"}},
      {"column negative", 2, 3, 1, 2, {1, 1}, {0, -1}, {1, 1}, bad, {"col[1] is -1", "[0, 3)"}},
      {"column at the limit", 2, 3, 1, 2, {1, 1}, {3, 1}, {1, 1}, bad, {"col[0] is 3", "[0, 3)"}},
      {"column of padding negative", 2, 3, 1, 2, {1, 0}, {0, -1}, {1, 0}, bad, {"col[1] is -1"}},
      {"column of padding at the limit", 1, 3, 1, 2, {1}, {0, 3}, {1, 0}, bad, {"col[1] is 3"}},
      {"no columns", 1, 0, 1, 1, {0}, {0}, {0}, bad, {"col[0] is 0", "[0, 0)"}},
      {"padding not 0", 2, 3, 1, 2, {1, 0}, {0, 0}, {1, 4}, bad, {"val[1]", "padding"}},
      {"padding NaN", 2, 3, 1, 2, {0, 1}, {0, 0}, {std::nan(""), 4}, bad, {"val[0]", "padding"}},
      {"behind the rows not 0", 1, 3, 1, 2, {1}, {0, 0}, {1, 4}, bad, {"val[1]", "padding"}},
      {"columns descend", 1, 3, 2, 1, {2}, {2, 1}, {1, 1}, bad, {"col[1] is 1 after 2", "row 0"}},
      {"a column twice", 1, 3, 2, 1, {2}, {1, 1}, {1, 1}, bad, {"col[1] is 1 after 1", "row 0"}},
  };
  for (broken const& b : cases) {
    EXPECT_TRUE(fails_with(b.code, b.expected, [&] {
      ell_view<double>(b.rows, b.cols, b.width, b.stride, b.row_len, b.col, b.val);
    })) << b.what;
    EXPECT_TRUE(fails_with(b.code, b.expected, [&] {
      ell<double>(b.rows, b.cols, b.width, b.stride, owned(b.row_len), owned(b.col), owned(b.val));
    })) << b.what;
    ell<double> const unseen(unchecked, b.rows, b.cols, 0, b.width, b.stride, owned(b.row_len),
                             owned(b.col), owned(b.val));
    EXPECT_TRUE(fails_with(b.code, b.expected, [&] { unseen.validate(); })) << b.what;
  }
}

TEST(ell, a_number_of_entries_that_is_not_that_of_the_rows_is_refused) {
  ell<double> b(2, 3, 1, 2, {1, 1}, {0, 1}, {1, 1});
  EXPECT_EQ(b.nnz, 2);
  b.nnz = 1;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"2 entries", "1"}, [&] { b.validate(); }));
  b.nnz = -1;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"2 entries", "-1"}, [&] { b.view().validate(); }));
}

// More entries than an offset counts: 3 rows of 50 in 8 bits.
TEST(ell, more_entries_than_an_offset_counts_are_overflow) {
  using tiny = std::int8_t;
  std::vector<tiny> col(150);
  for (std::size_t k = 0; k < col.size(); ++k)
    col[k] = static_cast<tiny>(k / 3);
  std::vector<tiny> const row_len(3, 50);
  EXPECT_TRUE(fails_with(errc::overflow, {"150"}, [&] {
    ell_view<double, tiny>(3, 60, 50, 3, row_len, col, doubles(150, 1));
  }));
}

TEST(ell, null_with_a_size_is_refused) {
  ints const two = {0, 1};
  doubles const val = {1, 2};
  std::span<std::int32_t const> const no_ints(static_cast<std::int32_t const*>(nullptr), 2);
  std::span<double const> const no_values(static_cast<double const*>(nullptr), 2);
  auto const refused = [](words const& w, auto&& f) {
    EXPECT_TRUE(fails_with(errc::bad_structure, w, f));
  };
  refused({"row_len is null", "2"}, [&] { ell_view<double>(2, 2, 1, 2, no_ints, two, val); });
  refused({"col is null", "2"}, [&] { ell_view<double>(2, 2, 1, 2, two, no_ints, val); });
  refused({"val is null", "2"}, [&] { ell_view<double>(2, 2, 1, 2, two, two, no_values); });
}

TEST(ell, ordinary_emptiness_is_accepted) {
  EXPECT_NO_THROW(ell_view<double>(0, 0, 0, 0, ints{}, ints{}, doubles{}));
  EXPECT_NO_THROW(ell_view<double>(0, 7, 3, 0, ints{}, ints{}, doubles{}));
  EXPECT_NO_THROW(ell_view<double>(2, 0, 0, 2, ints{0, 0}, ints{}, doubles{}));
  EXPECT_NO_THROW(ell_view<double>(2, 3, 1, 2, ints{0, 0}, ints{2, 0}, doubles{0, 0}));
}

// One row of all columns: rows * cols slots.
csr<double> one_long_row(std::int32_t n) {
  auto const size = static_cast<std::size_t>(n);
  csr<double> a(unchecked, n, n, owned_ints(size + 1, n), owned_ints(size),
                owned_doubles(size, 1.0));
  a.row_ptr[0] = 0;
  for (std::int32_t j = 0; j < n; ++j)
    a.col[static_cast<std::size_t>(j)] = j;
  return a;
}

TEST(ell, a_matrix_above_the_limit_is_refused_before_it_is_built) {
  csr<double> const a = one_long_row(1000); // 12 MB to 16 kB
  EXPECT_TRUE(fails_with(errc::unsupported, {"ell", "times those of csr", "limit is 8"},
                         [&] { ell<double>::from_csr(a.view()); }));
  EXPECT_EQ(ell<double>::from_csr(a.view(), {.limit = 1000}).to_csr(), a);
  // 12 * 2^40 bytes, which no one could allocate.
  EXPECT_TRUE(fails_with(errc::unsupported, {"limit is 100"}, [&] {
    ell<double>::from_csr(borrowed(one_long_row(1 << 20)), {.limit = 100});
  }));
}

TEST(ell, a_limit_that_is_none_is_refused) {
  csr<double> const a = one_long_row(4);
  for (double const limit : {0.0, -1.0, std::nan("")})
    EXPECT_TRUE(fails_with(errc::unsupported, {"ell", "limit", "above 0"},
                           [&] { ell<double>::from_csr(a.view(), {.limit = limit}); }));
}

} // namespace
} // namespace tulle::test::ell_test
