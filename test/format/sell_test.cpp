// SPDX-License-Identifier: Apache-2.0

// sell: where rows go, how each chunk stores its columns, and arrays that are not a sell.
#include "tulle/format/sell.hpp"

#include "format/detail/options.hpp"
#include "format/detail/symmetric.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::sell_test {
namespace {

using ints = array<std::int32_t>;
using bytes = array<std::uint8_t>;
using shorts = array<std::uint16_t>;
using doubles = array<double>;

sell<double> made(csr<double> const& a, char const* options) {
  return sell<double>::from_csr(a.view(), detail::parse_options<sell_options>("sell", options));
}

/// n x n with entries next to the diagonal, row i holding 10 i + 1, 2, 3; without entry (i, i) for
/// the row `hole`.
csr<double> tridiagonal(std::int32_t n, std::int32_t hole = -1) {
  std::vector<std::int32_t> ptr = {0}, col;
  std::vector<double> val;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = i - 1; j <= i + 1; ++j)
      if (j >= 0 && j < n && !(j == i && i == hole)) {
        col.push_back(j);
        val.push_back(10 * i + j - i + 2);
      }
    ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  return {n, n, {ptr.data(), ptr.size()}, {col.data(), col.size()}, {val.data(), val.size()}};
}

// Liu, thesis 2015, figure 5.10, in chunks of two rows where the thesis has three.
TEST(sell, slices_of_the_thesis) {
  csr<double> const a5(6, 6, {0, 2, 4, 8, 10, 12, 14}, {0, 1, 0, 2, 0, 1, 4, 5, 2, 3, 2, 3, 4, 5},
                       {1, 2, 1, 2, 1, 2, 3, 4, 1, 2, 1, 2, 1, 2});
  sell<double> const s = made(a5, "chunk=2:sigma=1:short_columns=false:shared_offsets=false");
  EXPECT_EQ(s.perm, ints{});
  EXPECT_EQ(s.len, (ints{2, 2, 4, 2, 2, 2}));
  EXPECT_EQ(s.step_ptr, (ints{0, 2, 6, 8}));
  EXPECT_EQ(s.kind, (bytes{4, 4, 4}));
  EXPECT_EQ(s.col_ptr, (ints{0, 4, 12}));
  EXPECT_EQ(s.col, (ints{0, 0, 1, 2, 0, 2, 1, 3, 4, 3, 5, 3, 2, 4, 3, 5}));
  EXPECT_EQ(s.val, (doubles{1, 1, 2, 2, 1, 1, 2, 2, 3, 0, 4, 0, 1, 1, 2, 2}));
  EXPECT_EQ(s.to_csr(), a5);
}

TEST(sell, sorting_puts_rows_of_one_length_together) {
  csr<double> const a = from_lengths(9, {1, 5, 1, 5, 0, 2, 5, 1});
  sell<double> const s = made(a, "chunk=2:sigma=4");
  EXPECT_EQ(s.perm, (ints{1, 3, 0, 2, 6, 5, 7, 4})); // within each four, ties in the order of rows
  EXPECT_EQ(s.len, (ints{5, 5, 1, 1, 5, 2, 1, 0}));
  EXPECT_EQ(s.step_ptr, (ints{0, 5, 6, 11, 12}));
  EXPECT_EQ(made(a, "chunk=2:sigma=1").step_ptr, (ints{0, 5, 10, 12, 17}));
}

TEST(sell, a_window_stays_in_order_where_sorting_saves_nothing) {
  EXPECT_EQ(made(from_lengths(9, {3, 3, 2, 2, 3, 3, 1, 1}), "chunk=2:sigma=4").perm, ints{});
  // The second window pays, the first does not.
  EXPECT_EQ(made(from_lengths(9, {3, 3, 2, 2, 9, 1, 9, 1}), "chunk=2:sigma=4").perm,
            (ints{0, 1, 2, 3, 4, 6, 5, 7}));
}

TEST(sell, chunks_of_a_stencil_share_offsets_and_point_at_one_list) {
  sell<double> const s = made(tridiagonal(16), "chunk=4");
  EXPECT_EQ(s.kind, (bytes{5, 6, 6, 5})); // at the ends x would be read outside
  EXPECT_EQ(s.col_ptr, (ints{0, 0, 0, 12}));
  EXPECT_EQ(s.col, (ints{-1, 0, 1}));
  EXPECT_EQ(s.base, (ints{0, 0, 0, 11}));
  EXPECT_EQ(s.short_col, (shorts{0, 0, 1, 2, 1, 1, 2, 3, 1, 2, 3, 4,    //
                                 0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 4})); // base 11
  EXPECT_EQ(s.mask, array<std::uint64_t>{});
  EXPECT_EQ(s.to_csr(), tridiagonal(16));
}

TEST(sell, a_row_that_lacks_an_offset_keeps_the_form_and_a_mask) {
  csr<double> const a = tridiagonal(12, 5);
  sell<double> const s = made(a, "chunk=4:sigma=1");
  EXPECT_EQ(s.kind, (bytes{5, 7, 5}));
  EXPECT_EQ(s.len, (ints{2, 3, 3, 3, 3, 2, 3, 3, 3, 3, 3, 2}));
  EXPECT_EQ(s.col, (ints{-1, 0, 1}));
  EXPECT_EQ(s.mask, (array<std::uint64_t>{15, 13, 15}));
  EXPECT_EQ(doubles(s.val.data() + 12, 12),
            (doubles{41, 51, 61, 71, 42, 0, 62, 72, 43, 53, 63, 73}));
  EXPECT_EQ(s.to_csr(), a);
}

TEST(sell, columns_are_short_where_they_fit) {
  csr<double> const a(4, 200000, {0, 2, 4, 6, 8},
                      {100000, 165535, 100000, 165535, 100000, 165536, 100000, 165536},
                      {1, 2, 3, 4, 5, 6, 7, 8});
  sell<double> const s = made(a, "chunk=2:shared_offsets=false");
  EXPECT_EQ(s.kind, (bytes{5, 4}));
  EXPECT_EQ(s.base, (ints{100000, 0}));
  EXPECT_EQ(s.short_col, (shorts{0, 0, 65535, 65535}));
  EXPECT_EQ(s.col, (ints{100000, 100000, 165536, 165536}));
  EXPECT_EQ(s.to_csr(), a);
}

TEST(sell, rows_much_longer_than_most_are_kept_apart) {
  std::vector<std::int32_t> lengths(101, 1);
  lengths[40] = 90;
  csr<double> const a = from_lengths(100, lengths);
  sell<double> const s = made(a, "chunk=4:sigma=1");
  EXPECT_EQ(s.long_row, ints{40});
  EXPECT_EQ(s.long_ptr, (ints{0, 90}));
  EXPECT_EQ(s.perm.size(), 100u);
  EXPECT_EQ(s.perm[40], 41);
  EXPECT_EQ(s.val.size(), 100u);
  EXPECT_EQ(s.to_csr(), a);
  sell<double> const whole = made(a, "chunk=4:sigma=1:split=0");
  EXPECT_EQ(whole.long_row, ints{});
  EXPECT_EQ(whole.val.size(), 4 * (25u + 90));
  EXPECT_EQ(whole.to_csr(), a);
}

TEST(sell, a_refill_that_differs_in_a_long_row_is_refused) {
  std::vector<std::int32_t> lengths(101, 1);
  lengths[40] = 90;
  csr<double> const a = from_lengths(200, lengths);
  sell<double> s = made(a, "chunk=4");
  sell<double> const before = s;
  csr<double> b = other_values(a);
  ASSERT_LT(b.col[40 + 89], 199);
  b.col[40 + 89] = 199;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"sell", "refill"}, [&] { s.refill(b.view()); }));
  EXPECT_EQ(s, before);
}

TEST(sell, options_out_of_range_are_refused_by_name) {
  csr<double> const a = tridiagonal(8);
  for (char const* const chunk : {"chunk=0", "chunk=-8", "chunk=3", "chunk=128"})
    EXPECT_TRUE(fails_with(errc::unsupported, {"sell", "chunk", chunk + 6, "power of two up to 64"},
                           [&] { made(a, chunk); }));
  for (char const* const sigma : {"sigma=0", "sigma=-1", "sigma=12"})
    EXPECT_TRUE(fails_with(errc::unsupported, {"sell", "sigma", sigma + 6, "multiple of chunk, 8"},
                           [&] { made(a, sigma); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"split is -1"}, [&] { made(a, "split=-1"); }));
}

TEST(sell, padding_beyond_the_limit_is_refused) {
  std::vector<std::int32_t> lengths(64, 0);
  lengths[7] = 100000;
  csr<double> const a = from_lengths(100000, lengths);
  char const* const whole = "chunk=64:sigma=1:split=0";
  EXPECT_TRUE(fails_with(errc::unsupported, {"sell", "bytes", "option limit is 8"},
                         [&] { made(a, whole); }));
  EXPECT_EQ(made(a, (std::string(whole) + ":limit=80").c_str()).to_csr(), a);
  EXPECT_EQ(made(a, "chunk=64:sigma=1").to_csr(), a); // that row is kept apart
}

struct broken {
  char const* what;
  std::function<void(sell<double>&)> spoil;
  std::vector<std::string> expected;
};

// By the owner's validate(), by a view over its arrays, and by validate() of one made unseen.
void expect_refused(sell<double> const& good, std::vector<broken> const& cases) {
  ASSERT_NO_THROW(good.validate());
  for (broken const& b : cases) {
    sell<double> s = good;
    b.spoil(s);
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] { s.validate(); })) << b.what;
    sell_arrays<double, std::int32_t, std::int32_t> const arrays = {
        s.perm,      s.len,  s.step_ptr, s.kind,     s.col_ptr,  s.base,     s.col,
        s.short_col, s.mask, s.val,      s.long_row, s.long_ptr, s.long_col, s.long_val};
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] {
      sell_view<double>(s.rows, s.cols, s.chunk, s.sigma, arrays);
    })) << b.what;
  }
}

constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t least = std::numeric_limits<std::int32_t>::min();

TEST(sell, broken_arrays_of_sorted_rows_are_refused) {
  // Rows 1 3 | 0 2: len 3 2 | 1 1, shorts.
  csr<double> const a(4, 9, {0, 1, 4, 5, 7}, {0, 2, 4, 8, 8, 1, 3}, {1, 2, 3, 4, 5, 6, 7});
  sell<double> const s = made(a, "chunk=2:sigma=4");
  ASSERT_EQ(s.perm, (ints{1, 3, 0, 2}));
  ASSERT_EQ(s.kind, (bytes{1, 1}));
  expect_refused(
      s, {{"rows negative", [](auto& b) { b.rows = -4; }, {"-4"}},
          {"columns negative", [](auto& b) { b.cols = -9; }, {"-9"}},
          {"a row more", [](auto& b) { b.rows = 5; }, {"perm", "4", "5"}},
          {"rows as many as can be", [](auto& b) { b.rows = most; }, {"perm", "2147483647"}},
          {"chunk 0", [](auto& b) { b.chunk = 0; }, {"chunk is 0"}},
          {"chunk 3", [](auto& b) { b.chunk = 3; }, {"chunk is 3"}},
          {"another chunk", [](auto& b) { b.chunk = 4; }, {"step_ptr", "3", "2"}},
          {"sigma 0", [](auto& b) { b.sigma = 0; }, {"sigma 0"}},
          {"a row twice", [](auto& b) { b.perm[1] = 1; }, {"perm", "row 1 again"}},
          {"a row outside", [](auto& b) { b.perm[1] = 4; }, {"perm[1] is 4", "[0, 4)"}},
          {"no perm",
           [](auto& b) {
             b.perm = {};
             b.kind[0] = 3;
           },
           {"chunk 0", "kind at 3"}},
          {"len negative", [](auto& b) { b.len[2] = -1; }, {"len[2] is -1"}},
          {"len too long", [](auto& b) { b.len[0] = 4; }, {"chunk 0", "len", "at 0"}},
          {"len too short", [](auto& b) { b.len[0] = 2; }, {"padding is not 0", "at 4"}},
          {"lens missing",
           [](auto& b) {
             b.len = {3, 2, 1};
           },
           {"len", "3", "4"}},
          {"steps decrease", [](auto& b) { b.step_ptr[1] = 5; }, {"step_ptr", "from 5 to 4"}},
          {"steps negative", [](auto& b) { b.step_ptr[1] = least; }, {"step_ptr", "-2147483648"}},
          {"steps end early", [](auto& b) { b.step_ptr[2] = 3; }, {"step_ptr ends at 3"}},
          {"a value missing", [](auto& b) { b.val = doubles(b.val.data(), 7); }, {"step_ptr", "4"}},
          {"values of half a step",
           [](auto& b) { b.val = doubles(9, 0.); },
           {"9 values in chunks of 2"}},
          {"kind unknown", [](auto& b) { b.kind[1] = 8; }, {"chunk 1", "kind at 8"}},
          {"offsets out of order", [](auto& b) { b.kind[1] = 2; }, {"chunk 1", "kind at 2"}},
          {"in order, but not", [](auto& b) { b.kind[1] = 5; }, {"chunk 1", "not in order"}},
          {"full, but not", [](auto& b) { b.kind[0] = 0; }, {"chunk 0", "col_ptr leads outside"}},
          {"col_ptr negative", [](auto& b) { b.col_ptr[1] = -1; }, {"chunk 1", "col_ptr"}},
          {"col_ptr at the end", [](auto& b) { b.col_ptr[1] = 7; }, {"chunk 1", "col_ptr"}},
          {"col_ptr far away", [](auto& b) { b.col_ptr[1] = most; }, {"chunk 1", "col_ptr"}},
          {"base negative", [](auto& b) { b.base[1] = -1; }, {"chunk 1", "outside"}},
          {"base far away", [](auto& b) { b.base[1] = most; }, {"chunk 1", "outside"}},
          {"a column outside", [](auto& b) { b.short_col[4] = 9; }, {"chunk 0", "outside", "at 4"}},
          {"of padding too", [](auto& b) { b.short_col[5] = 9; }, {"chunk 0", "outside", "at 5"}},
          {"columns equal", [](auto& b) { b.short_col[2] = b.short_col[0]; }, {"ascend", "at 2"}},
          {"padding not 0", [](auto& b) { b.val[5] = 1; }, {"padding is not 0", "at 5"}},
          {"a long row from nowhere", [](auto& b) { b.long_row = {0}; }, {"perm", "4", "3"}},
          {"long entries without rows",
           [](auto& b) {
             b.long_col = {0};
             b.long_val = {1};
           },
           {"long_ptr", "0", "1"}}});
}

TEST(sell, broken_arrays_of_stencils_and_long_rows_are_refused) {
  sell<double> const s = made(tridiagonal(12, 5), "chunk=4:sigma=1");
  ASSERT_EQ(s.kind, (bytes{5, 7, 5}));
  expect_refused(
      s, {{"an offset outside", [](auto& b) { b.col[2] = 5; }, {"chunk 1", "offset", "at 2"}},
          {"an offset below", [](auto& b) { b.col[0] = -5; }, {"chunk 1", "offset", "at 0"}},
          {"an offset far away", [](auto& b) { b.col[0] = least; }, {"chunk 1", "offset"}},
          {"offsets equal", [](auto& b) { b.col[1] = -1; }, {"chunk 1", "offset", "at 1"}},
          {"a lane that is not there", [](auto& b) { b.mask[1] = 29; }, {"mask has a lane"}},
          {"one lane less", [](auto& b) { b.mask[1] = 12; }, {"padding is not 0"}},
          {"one lane more", [](auto& b) { b.mask[1] = 15; }, {"mask and len differ", "at 1"}},
          {"no mask needed", [](auto& b) { b.kind[1] = 6; }, {"without a mask", "at 1"}},
          {"mask outside", [](auto& b) { b.base[1] = 1; }, {"base leads outside of mask"}},
          {"mask far below", [](auto& b) { b.base[1] = least; }, {"base leads outside of mask"}}});

  std::vector<std::int32_t> lengths(101, 1);
  lengths[40] = 90;
  sell<double> const apart = made(from_lengths(100, lengths), "chunk=4:sigma=1");
  expect_refused(
      apart,
      {{"a long row outside", [](auto& b) { b.long_row[0] = 101; }, {"long_row[0] is 101"}},
       {"a long row twice", [](auto& b) { b.long_row[0] = 7; }, {"long_row", "row 7 again"}},
       {"pointers end early", [](auto& b) { b.long_ptr[1] = 89; }, {"long_ptr", "89", "90"}},
       {"a column outside", [](auto& b) { b.long_col[3] = 100; }, {"long_col[3] is 100"}},
       {"columns equal", [](auto& b) { b.long_col[3] = b.long_col[2]; }, {"long_col", "ascend"}},
       {"a value missing",
        [](auto& b) { b.long_val = doubles(b.long_val.data(), 89); },
        {"long_col", "90", "89"}},
       {"no perm", [](auto& b) { b.perm = {}; }, {"perm", "0", "100"}}});
}

TEST(sell, one_that_was_moved_from_is_refused) {
  sell<double> s = made(tridiagonal(12), "chunk=4");
  sell<double> const taken = std::move(s);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"sell"}, [&] { s.validate(); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"sell", "null"}, [&] { s.view().validate(); }));
  EXPECT_NO_THROW(taken.view().validate());
}

// 1 2 . 7
// 2 3 4 .
// . 4 5 6
// 7 . 6 0, the last 0 stored
csr<double> symmetric() {
  return {4,
          4,
          {0, 3, 6, 9, 12},
          {0, 1, 3, 0, 1, 2, 1, 2, 3, 0, 2, 3},
          {1, 2, 7, 2, 3, 4, 4, 5, 6, 7, 6, 0}};
}

TEST(sell, symmetric_keeps_what_lies_on_and_below_the_diagonal) {
  sell<double> const s = made(symmetric(), "symmetric=true:chunk=2:sigma=1:shared_offsets=false");
  EXPECT_EQ(s.len, (ints{1, 2, 2, 3}));
  EXPECT_EQ(s.val, (doubles{1, 2, 0, 3, 4, 7, 5, 6, 0, 0}));
  EXPECT_EQ(s.nnz, 12);
  EXPECT_EQ(s.to_csr(), symmetric());
  EXPECT_NO_THROW(s.validate());
  EXPECT_NO_THROW(s.view().validate());
}

// Rows 5 and 7 of the lower triangle are full, of the others only the diagonal is there.
csr<double> two_long_rows() {
  csr<double> const lower(8, 8, {0, 1, 2, 3, 4, 5, 11, 12, 20},
                          {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 7},
                          doubles(20, 3.));
  return detail::mirrored(lower.view(), cpu{});
}

TEST(sell, symmetric_sorts_within_windows_and_keeps_no_row_apart) {
  sell<double> const s = made(two_long_rows(), "symmetric=true:chunk=2:sigma=8:split=1");
  EXPECT_EQ(s.perm, (ints{7, 5, 0, 1, 2, 3, 4, 6}));
  EXPECT_EQ(s.to_csr(), two_long_rows());
  csr<double> const arrow = mirrored(from_lengths(400, {400}));
  sell<double> const t = made(arrow, "symmetric=true:chunk=4:split=1");
  EXPECT_TRUE(t.long_row.empty());
  EXPECT_EQ(t.to_csr(), arrow);
}

TEST(sell, symmetric_refuses_the_first_entry_without_an_equal_twin) {
  csr<double> a = symmetric();
  a.val[10] = 8; // (3, 2)
  EXPECT_TRUE(
      fails_with(errc::unsupported,
                 {"sell", "symmetric storage of a matrix whose (2, 3) is 6 and (3, 2) is 8"},
                 [&] { made(a, "symmetric=true"); }));
}

TEST(sell, symmetric_refills_with_symmetric_values_alone) {
  sell<double> const before = made(symmetric(), "symmetric=true:chunk=2:sigma=4");
  sell<double> s = before;
  csr<double> a = symmetric();
  a.val[2] = 9; // (0, 3)
  EXPECT_TRUE(fails_with(errc::unsupported, {"sell", "(0, 3) is 9 and (3, 0) is 7"},
                         [&] { s.refill(a.view()); }));
  EXPECT_EQ(s, before);
  csr<double> moved = symmetric();
  moved.col[2] = 2; // as many entries, without twins
  EXPECT_TRUE(fails_with(errc::bad_structure, {"sell", "refill"}, [&] { s.refill(moved.view()); }));
  EXPECT_EQ(s, before);
  a.val[9] = 9;
  s.refill(a.view());
  EXPECT_EQ(s, made(a, "symmetric=true:chunk=2:sigma=4"));
}

TEST(sell, what_is_not_symmetric_is_refused) {
  auto const refused = [](std::vector<std::string> const& words, sell<double> s) {
    s.symmetric = true;
    EXPECT_TRUE(fails_with(errc::bad_structure, words, [&] { s.validate(); })) << words[0];
  };
  refused({"row 0 has column 3", "above"}, made(symmetric(), "chunk=2:sigma=1"));
  refused({"row 0 has column 1", "above"}, made(tridiagonal(16), "chunk=4:sigma=1"));
  sell<double> wide = made(symmetric(), "symmetric=true:chunk=2:sigma=1");
  wide.cols = 5;
  refused({"symmetric", "4 x 5"}, wide);
  sell<double> sorted = made(two_long_rows(), "symmetric=true:chunk=2:sigma=8");
  sorted.sigma = 2; // row 7 is in the first chunk
  refused({"perm[0] is 7", "window of 2"}, sorted);
  sorted.sigma = 9;
  refused({"symmetric", "sigma 9 in chunks of 2"}, sorted);
}

} // namespace
} // namespace tulle::test::sell_test
