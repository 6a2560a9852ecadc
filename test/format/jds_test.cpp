// SPDX-License-Identifier: Apache-2.0

// jds: the matrix of the paper, array by array; what is kept apart; arrays that are none.
#include "tulle/format/jds.hpp"

#include "support/sorted_rows.hpp"
#include "support/zoo.hpp"

namespace tulle::test::jds_test {
namespace {

// Kirk & Hwu, figure 10.15: row 2, which is the longest, then 0, 3 and 1; its columns one after the
// other.
TEST(jds, kirk_hwu_figure_10_15) {
  csr<double> const a = kirk_hwu();
  auto const b = jds<double>::from_csr(a.view());
  EXPECT_EQ(b.perm, (ints{2, 0, 3, 1}));
  EXPECT_EQ(b.diag_ptr, (ints{0, 3, 6, 7}));
  EXPECT_EQ(b.col, (ints{1, 0, 0, 2, 2, 3, 3}));
  EXPECT_EQ(b.val, (doubles{2, 3, 1, 4, 1, 1, 1}));
  EXPECT_EQ(b.longs, 0);
  EXPECT_EQ(b.to_csr(), a);
}

TEST(jds, rows_of_one_length_keep_their_order) {
  auto const b = jds<double>::from_csr(borrowed(from_lengths(9, {1, 2, 0, 2, 1, 0, 2})));
  EXPECT_EQ(b.perm, (ints{1, 3, 6, 0, 4, 2, 5}));
  EXPECT_EQ(b.diag_ptr, (ints{0, 5, 8}));
}

// With 105 entries in four rows 27 on average: rows of more than 64, and of more than 27 times
// `split`, are coo, in the order of rows.
TEST(jds, rows_much_longer_than_most_are_coo) {
  csr<double> const a = from_lengths(80, {1, 66, 2, 36});
  auto const b = jds<double>::from_csr(a.view(), {.split = 2});
  EXPECT_EQ(b.longs, 1);
  EXPECT_EQ(b.perm, (ints{1, 3, 2, 0}));
  EXPECT_EQ(b.coo_row, ints(66, 1));
  EXPECT_EQ(b.coo_col, ints(a.col.data() + 1, 66));
  EXPECT_EQ(b.coo_val, doubles(a.val.data() + 1, 66));
  EXPECT_EQ(b.diag_ptr.size(), 37u);
  EXPECT_EQ(b.to_csr(), a);
  EXPECT_EQ(jds<double>::from_csr(a.view(), {.split = 3}).longs, 0);
  EXPECT_EQ(jds<double>::from_csr(a.view(), {.split = 0}).longs, 0);
}

TEST(jds, long_rows_keep_their_order) {
  csr<double> const a = from_lengths(90, {70, 0, 80, 1, 75, 0, 0, 0, 0, 0, 0, 0});
  auto const b = jds<double>::from_csr(a.view(), {.split = 1});
  EXPECT_EQ(b.longs, 3);
  EXPECT_EQ(b.perm, (ints{0, 2, 4, 3, 1, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(b.coo_row.size(), 225u);
  EXPECT_EQ(b.to_csr(), a);
}

sorted_rows example() {
  sorted_rows a = example_rows();
  a.diag_ptr = {0, 2, 3};
  return a;
}

TEST(jds, arrays_that_are_good_are_taken) {
  EXPECT_EQ(example().view<jds_view<double>>().to_csr(), example_as_csr());
}

TEST(jds, broken_arrays_are_refused) {
  expect_refused<jds_view<double>>(example(), broken_in_all("jds"));
  using rows = sorted_rows;
  expect_refused<jds_view<double>>(
      example(),
      {{"first pointer not 0", [](rows& a) { a.diag_ptr[0] = 1; }, {"jds: diag_ptr[0] is 1"}},
       {"pointers decrease", [](rows& a) { a.diag_ptr[1] = 4; }, {"jds: diag_ptr", "from 4 to 3"}},
       {"pointers end early", [](rows& a) { a.diag_ptr[2] = 2; }, {"diag_ptr ends at 2"}},
       {"no pointers", [](rows& a) { a.diag_ptr.clear(); }, {"jds: diag_ptr is null"}},
       {"a diagonal grows", [](rows& a) { a.diag_ptr[1] = 1; }, {"diagonal 1", "2 rows after 1"}},
       {"an empty diagonal",
        [](rows& a) {
          a.diag_ptr = {0, 3, 3};
        },
        {"diagonal 1", "0 rows"}},
       {"more rows than there are",
        [](rows& a) {
          a.diag_ptr = {0, 4};
          a.col.push_back(0);
          a.val.push_back(1);
        },
        {"diagonal 0", "4 rows after 3"}},
       {"a long row less", [](rows& a) { a.longs = 0; }, {"coo_row[0]"}},
       {"a long row more", [](rows& a) { a.longs = 2; }, {"1 rows in coo, expected 2"}}});
}

TEST(jds, a_number_of_entries_that_is_not_that_of_the_arrays_is_refused) {
  auto b = jds<double>::from_csr(borrowed(from_lengths(9, {2, 0, 3, 1})));
  b.nnz = 5;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"jds: 6 entries", "5"}, [&] { b.validate(); }));
  b.nnz = -1;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"-1 entries"}, [&] { b.validate(); }));
}

TEST(jds, options_that_make_no_sense_are_refused) {
  csr<double> const a = from_lengths(9, {2, 0, 3, 1});
  EXPECT_TRUE(fails_with(errc::unsupported, {"jds", "split", "-1", "0 or more"},
                         [&] { jds<double>::from_csr(a.view(), {.split = -1}); }));
}

} // namespace
} // namespace tulle::test::jds_test
