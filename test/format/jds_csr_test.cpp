// SPDX-License-Identifier: Apache-2.0

// jds_csr: the matrix of the paper, array by array; where sections end; arrays that are none.
#include "tulle/format/jds_csr.hpp"

#include "support/sorted_rows.hpp"
#include "support/zoo.hpp"

namespace tulle::test::jds_csr_test {
namespace {

// Kirk & Hwu, figure 10.15, in its three sections: one row of three entries, two of two, one of
// none; each transposed. The figure has no arrays for it: these are by hand.
TEST(jds_csr, kirk_hwu_figure_10_15_transposed) {
  csr<double> const a = kirk_hwu();
  auto const b = jds_csr<double>::from_csr(a.view(), {.section = 1});
  EXPECT_EQ(b.perm, (ints{2, 0, 3, 1}));
  EXPECT_EQ(b.place_ptr, (ints{0, 1, 3, 4}));
  EXPECT_EQ(b.section_ptr, (ints{0, 3, 5, 5}));
  EXPECT_EQ(b.diag_ptr, (ints{0, 1, 2, 3, 5, 7}));
  EXPECT_EQ(b.col, (ints{1, 2, 3, 0, 0, 2, 3}));
  EXPECT_EQ(b.val, (doubles{2, 4, 1, 3, 1, 1, 1}));
  EXPECT_EQ(b.to_csr(), a);
}

// Rows of different lengths in one section: nothing is padded.
TEST(jds_csr, a_section_is_jagged) {
  csr<double> const a = kirk_hwu();
  auto const b = jds_csr<double>::from_csr(a.view(), {.section = 2});
  EXPECT_EQ(b.place_ptr, (ints{0, 2, 4}));
  EXPECT_EQ(b.section_ptr, (ints{0, 3, 5}));
  EXPECT_EQ(b.diag_ptr, (ints{0, 2, 4, 5, 6, 7}));
  EXPECT_EQ(b.col, (ints{1, 0, 2, 2, 3, 0, 3}));
  EXPECT_EQ(b.val, (doubles{2, 3, 4, 1, 1, 1, 1}));
}

TEST(jds_csr, a_section_has_so_many_rows_or_all_of_one_length) {
  csr<double> const a = from_lengths(9, {1, 5, 2, 2, 7, 2, 2, 0, 2, 0, 0});
  auto const places = [&](int section) {
    return jds_csr<double>::from_csr(a.view(), {.section = section}).place_ptr;
  };
  // In order of length: 7, 5, 2 2 2 2 2, 1, 0 0 0.
  EXPECT_EQ(places(1), (ints{0, 1, 2, 7, 8, 11}));
  EXPECT_EQ(places(2), (ints{0, 2, 7, 9, 11}));
  EXPECT_EQ(places(3), (ints{0, 3, 7, 10, 11}));
  EXPECT_EQ(places(4), (ints{0, 4, 8, 11}));
  EXPECT_EQ(places(100), (ints{0, 11}));
}

TEST(jds_csr, rows_much_longer_than_most_are_coo) {
  csr<double> const a = from_lengths(80, {1, 66, 2, 36});
  auto const b = jds_csr<double>::from_csr(a.view(), {.section = 1, .split = 2});
  EXPECT_EQ(b.perm, (ints{1, 3, 2, 0}));
  EXPECT_EQ(b.place_ptr, (ints{1, 2, 3, 4}));
  EXPECT_EQ(b.coo_row, ints(66, 1));
  EXPECT_EQ(b.to_csr(), a);
}

sorted_rows example() {
  sorted_rows a = example_rows();
  a.place_ptr = {1, 3, 4};
  a.section_ptr = {0, 2, 2};
  a.diag_ptr = {0, 2, 3};
  return a;
}

TEST(jds_csr, arrays_that_are_good_are_taken) {
  EXPECT_EQ(example().view<jds_csr_view<double>>().to_csr(), example_as_csr());
}

TEST(jds_csr, broken_arrays_are_refused) {
  expect_refused<jds_csr_view<double>>(example(), broken_in_all("jds_csr"));
  using rows = sorted_rows;
  expect_refused<jds_csr_view<double>>(
      example(),
      {{"places begin elsewhere", [](rows& a) { a.place_ptr[0] = 0; }, {"from place 1 to 4"}},
       {"places end early", [](rows& a) { a.place_ptr[2] = 3; }, {"from place 1 to 4"}},
       {"an empty section", [](rows& a) { a.place_ptr[1] = 1; }, {"place_ptr[1] is 1 after 1"}},
       {"places descend", [](rows& a) { a.place_ptr[1] = 5; }, {"place_ptr[2] is 4 after 5"}},
       {"no places",
        [](rows& a) {
          a.place_ptr.clear();
          a.section_ptr.clear();
        },
        {"0 sections"}},
       {"a section missing", [](rows& a) { a.section_ptr.pop_back(); }, {"section_ptr has 2"}},
       {"sections begin elsewhere", [](rows& a) { a.section_ptr[0] = 1; }, {"section_ptr[0] is 1"}},
       {"sections decrease", [](rows& a) { a.section_ptr[1] = 3; }, {"section_ptr", "from 3 to 2"}},
       {"sections end early",
        [](rows& a) {
          a.section_ptr = {0, 1, 1};
        },
        {"ends at 1"}},
       {"pointers decrease", [](rows& a) { a.diag_ptr[1] = 4; }, {"diag_ptr", "from 4 to 3"}},
       {"pointers end early", [](rows& a) { a.diag_ptr[2] = 2; }, {"diag_ptr ends at 2"}},
       {"a diagonal grows", [](rows& a) { a.diag_ptr[1] = 1; }, {"diagonal 1", "2 rows after 1"}},
       {"a diagonal in a section too small for it",
        [](rows& a) { a.place_ptr[1] = 2; },
        {"diagonal 0", "2 rows after 1"}}});
}

TEST(jds_csr, options_that_make_no_sense_are_refused) {
  csr<double> const a = from_lengths(9, {2, 0, 3, 1});
  EXPECT_TRUE(fails_with(errc::unsupported, {"jds_csr", "section", "0", "1 or more"},
                         [&] { jds_csr<double>::from_csr(a.view(), {.section = 0}); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"jds_csr", "split", "-1", "0 or more"},
                         [&] { jds_csr<double>::from_csr(a.view(), {.split = -1}); }));
}

} // namespace
} // namespace tulle::test::jds_csr_test
