// SPDX-License-Identifier: Apache-2.0

// jds_ell: the matrix of the paper, array by array; how much is padded; arrays that are none.
#include "tulle/format/jds_ell.hpp"

#include "support/sorted_rows.hpp"
#include "support/zoo.hpp"

#include <cmath>

namespace tulle::test::jds_ell_test {
namespace {

// Kirk & Hwu, figure 10.16: sections of one, two and one row; the last has no entry, so that it
// begins where it ends.
TEST(jds_ell, kirk_hwu_figure_10_16) {
  csr<double> const a = kirk_hwu();
  auto const b = jds_ell<double>::from_csr(a.view(), {.section = 1});
  EXPECT_EQ(b.perm, (ints{2, 0, 3, 1}));
  EXPECT_EQ(b.len, (ints{3, 2, 2, 0}));
  EXPECT_EQ(b.place_ptr, (ints{0, 1, 3, 4}));
  EXPECT_EQ(b.section_ptr, (ints{0, 3, 7, 7}));
  EXPECT_EQ(b.col, (ints{1, 2, 3, 0, 0, 2, 3}));
  EXPECT_EQ(b.val, (doubles{2, 4, 1, 3, 1, 1, 1}));
  EXPECT_EQ(b.to_csr(), a);
}

// Padding repeats the last column of its row; a row without entries has column 0.
TEST(jds_ell, a_section_is_padded_to_its_first_row) {
  csr<double> const a = kirk_hwu();
  auto const b = jds_ell<double>::from_csr(a.view(), {.section = 2});
  EXPECT_EQ(b.place_ptr, (ints{0, 2, 4}));
  EXPECT_EQ(b.section_ptr, (ints{0, 6, 10}));
  EXPECT_EQ(b.col, (ints{1, 0, 2, 2, 3, 2, 0, 0, 3, 0}));
  EXPECT_EQ(b.val, (doubles{2, 3, 4, 1, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(jds_ell, rows_of_one_length_are_not_padded_and_all_others_by_a_bounded_number) {
  csr<double> const alike = from_lengths(40, std::vector<std::int32_t>(300, 7));
  EXPECT_EQ(jds_ell<double>::from_csr(alike.view()).val.size(), alike.val.size());
  std::vector<std::int32_t> lengths(1000);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    lengths[i] = static_cast<std::int32_t>(i * i % 61);
  csr<double> const a = from_lengths(80, lengths);
  for (int const section : {1, 8, 64, 256}) {
    auto const b = jds_ell<double>::from_csr(a.view(), {.section = section});
    EXPECT_LE(b.val.size(), a.val.size() + static_cast<std::size_t>(section) * 60) << section;
  }
}

TEST(jds_ell, rows_much_longer_than_most_are_coo) {
  csr<double> const a = from_lengths(80, {1, 66, 2, 36});
  auto const b = jds_ell<double>::from_csr(a.view(), {.section = 4, .split = 2});
  EXPECT_EQ(b.perm, (ints{1, 3, 2, 0}));
  EXPECT_EQ(b.len, (ints{66, 36, 2, 1}));
  EXPECT_EQ(b.place_ptr, (ints{1, 4}));
  EXPECT_EQ(b.section_ptr, (ints{0, 3 * 36}));
  EXPECT_EQ(b.coo_row, ints(66, 1));
  EXPECT_EQ(b.to_csr(), a);
}

sorted_rows example() {
  sorted_rows a = example_rows();
  a.len = {3, 2, 1, 0};
  a.place_ptr = {1, 3, 4};
  a.section_ptr = {0, 4, 4};
  a.col.push_back(4); // padding
  a.val.push_back(0);
  return a;
}

TEST(jds_ell, arrays_that_are_good_are_taken) {
  EXPECT_EQ(example().view<jds_ell_view<double>>().to_csr(), example_as_csr());
}

TEST(jds_ell, broken_arrays_are_refused) {
  using rows = sorted_rows;
  std::vector<broken_rows> cases = broken_in_all("jds_ell");
  std::erase_if(cases,
                [](broken_rows const& b) { return b.what == std::string("columns descend"); });
  expect_refused<jds_ell_view<double>>(example(), cases);
  expect_refused<jds_ell_view<double>>(
      example(),
      {{"columns descend",
        [](rows& a) { std::swap(a.col[0], a.col[2]); },
        {"col[2] is 0 after 1", "row 1"}},
       {"places begin elsewhere", [](rows& a) { a.place_ptr[0] = 0; }, {"from place 1 to 4"}},
       {"an empty section", [](rows& a) { a.place_ptr[1] = 1; }, {"place_ptr[1] is 1 after 1"}},
       {"a section missing", [](rows& a) { a.section_ptr.pop_back(); }, {"section_ptr 2"}},
       {"slots that are no rows",
        [](rows& a) { a.section_ptr[1] = 3; },
        {"section 0 has 3 slots for 2 rows"}},
       {"sections end early",
        [](rows& a) {
          a.section_ptr = {0, 2, 2};
        },
        {"ends at 2"}},
       {"a length missing", [](rows& a) { a.len.pop_back(); }, {"len has 3"}},
       {"length negative", [](rows& a) { a.len[2] = -1; }, {"row_len[2] is -1"}},
       {"longer than the section", [](rows& a) { a.len[2] = 3; }, {"len[2] is 3, outside [0, 2]"}},
       {"padding not 0", [](rows& a) { a.val[3] = 2; }, {"val[3] is padding and not 0"}},
       {"another length than in coo", [](rows& a) { a.len[0] = 4; }, {"entries, but nnz is 7"}},
       {"lengths of two long rows the other way round",
        [](rows& a) {
          a.longs = 2;
          a.perm = {1, 2, 3, 0};
          a.len = {2, 1, 1, 0};
          a.place_ptr = {2, 4};
          a.section_ptr = {0, 2};
          a.col = {4, 0};
          a.val = {2, 0};
          a.coo_row = {1, 2, 2};
        },
        {"len[0] is 2, but coo has 1"}}});
}

TEST(jds_ell, options_that_make_no_sense_are_refused) {
  csr<double> const a = from_lengths(9, {2, 0, 3, 1});
  EXPECT_TRUE(fails_with(errc::unsupported, {"jds_ell", "section", "0", "1 or more"},
                         [&] { jds_ell<double>::from_csr(a.view(), {.section = 0}); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"jds_ell", "split", "-1", "0 or more"},
                         [&] { jds_ell<double>::from_csr(a.view(), {.split = -1}); }));
  for (double const limit : {0.0, -1.0, std::nan("")})
    EXPECT_TRUE(fails_with(errc::unsupported, {"jds_ell", "limit", "above 0"},
                           [&] { jds_ell<double>::from_csr(a.view(), {.limit = limit}); }));
}

// One row of 5000 entries would pad 4095 others to it.
TEST(jds_ell, a_matrix_above_the_limit_is_refused) {
  std::vector<std::int32_t> lengths(5000, 1);
  lengths[7] = 5000;
  csr<double> const a = from_lengths(5000, lengths);
  EXPECT_TRUE(fails_with(errc::unsupported, {"jds_ell", "times those of csr", "limit is 8"}, [&] {
    jds_ell<double>::from_csr(a.view(), {.section = 4096, .split = 0});
  }));
  EXPECT_EQ(jds_ell<double>::from_csr(a.view()).to_csr(), a);
}

} // namespace
} // namespace tulle::test::jds_ell_test
