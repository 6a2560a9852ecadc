// SPDX-License-Identifier: Apache-2.0

// vbicrs: vectors by hand; the height that is chosen; arrays that are none.
#include "tulle/format/vbicrs.hpp"

#include "support/broken.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::vbicrs_test {
namespace {

using ints = array<std::int32_t>;
using shorts = array<std::int16_t>;
using words = array<std::uint64_t>;
using doubles = array<double>;

// Two rows by four entries: rows 0 and 1 are a group of two vectors, row 3 one of its own.
TEST(vbicrs, two_rows_by_four_entries) {
  csr<double> const a(4, 10, {0, 5, 7, 7, 8}, {0, 2, 3, 5, 9, 1, 4, 7}, {1, 2, 3, 4, 5, 6, 7, 8});
  auto const b = vbicrs<double>::from_csr(a.view(), {.height = 2, .block = 16});
  EXPECT_EQ(b.part_row, (ints{0, 4}));
  EXPECT_EQ(b.part_block, (ints{0, 1}));
  EXPECT_EQ(b.block_row, (ints{0}));
  EXPECT_EQ(b.block_col, (ints{0}));
  EXPECT_EQ(b.block_ptr, (ints{0, 24}));
  EXPECT_EQ(b.jump_ptr, (ints{0, 4}));
  EXPECT_EQ(b.row, (shorts{0, 1, 3, 0}));
  EXPECT_EQ(b.col, (shorts{0,  1, 2, 4, 3, 0, 5, 0,    // columns 0 1, 2 4, 3, 5
                           9,  0, 0, 0, 0, 0, 0, 0,    // 9
                           14, 0, 0, 0, 0, 0, 0, 0})); // 7, of the next rows: 7 - 9 + 16
  EXPECT_EQ(b.val,
            (doubles{1, 6, 2, 7, 3, 0, 4, 0, 5, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(b.pattern, (words{65887})); // 11111010 10000000 10000000
  EXPECT_EQ(b.to_csr(), a);
}

// A vector whose first slot is a hole begins at its first entry, which may be left of the last.
TEST(vbicrs, a_hole_comes_first) {
  csr<double> const a(2, 6, {0, 1, 6}, {5, 0, 1, 2, 3, 4}, {1, 2, 3, 4, 5, 6});
  auto const b = vbicrs<double>::from_csr(a.view(), {.height = 2});
  EXPECT_EQ(b.col, (shorts{5, -5, 0, -4, 0, -3, 0, -2, -1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(b.val, (doubles{1, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(b.pattern, (words{0x02ab}));
  EXPECT_NO_THROW(b.validate());
  EXPECT_EQ(b.to_csr(), a);
}

// As many rows as a vector has slots: slices of 8 rows, entry by entry, as in sell.
TEST(vbicrs, a_whole_vector_of_rows_is_sell) {
  csr<double> const a = from_lengths(40, {3, 5, 1, 4, 4, 4, 2, 3, 6, 6, 6, 6, 6, 6, 6, 6, 1});
  auto const b = vbicrs<double>::from_csr(a.view(), {.height = 8});
  std::vector<double> expected;
  for (std::int32_t i = 0; i < a.rows; i += 8) {
    std::int32_t longest = 0;
    std::int32_t const end = std::min(a.rows, i + 8);
    for (std::int32_t r = i; r < end; ++r)
      longest = std::max(longest, a.row_ptr[r + 1] - a.row_ptr[r]);
    for (std::int32_t e = 0; e < longest; ++e)
      for (std::int32_t r = i; r < i + 8; ++r)
        expected.push_back(r < end && e < a.row_ptr[r + 1] - a.row_ptr[r] ? a.val[a.row_ptr[r] + e]
                                                                          : 0);
  }
  EXPECT_EQ(b.val, doubles(expected.data(), expected.size()));
}

TEST(vbicrs, the_height_of_fewest_holes_is_chosen) {
  auto const chosen = [](std::vector<std::int32_t> const& lengths) {
    return vbicrs<double>::from_csr(borrowed(from_lengths(40, lengths))).height;
  };
  EXPECT_EQ(chosen({8, 8, 16}), 1);
  EXPECT_EQ(chosen({4, 4, 8, 8}), 2);
  EXPECT_EQ(chosen({6, 6, 6, 6}), 4);
  EXPECT_EQ(chosen({3, 3, 3, 3, 3, 3, 3, 3}), 8);
  EXPECT_EQ(chosen({8, 8, 8, 8, 8, 8, 8, 8}), 8); // none in any: the highest
  csr<float> const f(1, 1, {0, 1}, {0}, {1});
  EXPECT_EQ(vbicrs<float>::from_csr(f.view()).height, 16);
}

TEST(vbicrs, without_holes_there_is_no_pattern) {
  csr<double> const a = from_lengths(40, {8, 8, 16});
  EXPECT_TRUE(vbicrs<double>::from_csr(a.view()).pattern.empty());
  EXPECT_FALSE(vbicrs<double>::from_csr(a.view(), {.height = 8}).pattern.empty());
}

struct arrays {
  std::int32_t rows = 4, cols = 10, nnz = 8;
  int block = 16, height = 2;
  std::vector<std::int32_t> part_row = {0, 4}, part_block = {0, 1}, block_row = {0},
                            block_col = {0}, block_ptr = {0, 24}, jump_ptr = {0, 4};
  std::vector<std::int16_t> row = {0, 1, 3, 0}, col = {0, 1, 2, 4, 3,  0, 5, 0, 9, 0, 0, 0,
                                                       0, 0, 0, 0, 14, 0, 0, 0, 0, 0, 0, 0};
  std::vector<double> val = {1, 6, 2, 7, 3, 0, 4, 0, 5, 0, 0, 0,
                             0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0};
  std::vector<std::uint64_t> pattern = {65887};
  vbicrs_view<double> view() const {
    return {
        rows,
        cols,
        nnz,
        block,
        height,
        {part_row, part_block, block_row, block_col, block_ptr, jump_ptr, row, col, val, pattern}};
  }
};

TEST(vbicrs, broken_arrays_are_refused) {
  EXPECT_EQ(borrowed(arrays()).to_csr().col, (ints{0, 2, 3, 5, 9, 1, 4, 7}));
  expect_refused<arrays>(
      {{"an entry more", [](arrays& a) { a.nnz = 9; }, {"8 entries, but nnz is 9"}},
       {"entries negative", [](arrays& a) { a.nnz = -1; }, {"-1 entries"}},
       {"no height", [](arrays& a) { a.height = 0; }, {"vectors of 0 rows"}},
       {"too high", [](arrays& a) { a.height = 16; }, {"vectors of 16 rows"}},
       {"no whole groups", [](arrays& a) { a.height = 8; }, {"24 slots and 4 rows"}},
       {"no whole vectors",
        [](arrays& a) {
          a.col.pop_back();
          a.val.pop_back();
          a.block_ptr[1] = 23;
        },
        {"23 slots"}},
       {"pattern of another size", [](arrays& a) { a.pattern.push_back(0); }, {"2 words"}},
       {"bits beyond", [](arrays& a) { a.pattern[0] |= 1 << 24; }, {"beyond the last of 24"}},
       {"no pattern", [](arrays& a) { a.pattern.clear(); }, {"col[5]"}},
       {"a vector of holes",
        [](arrays& a) { a.pattern[0] &= ~std::uint64_t(256); },
        {"the vector at slot 8 is empty"}},
       {"a hole has a value", [](arrays& a) { a.val[5] = 1; }, {"slot 5 is a hole"}},
       {"a hole has a column", [](arrays& a) { a.col[5] = 1; }, {"slot 5 is a hole"}},
       {"a row outside", [](arrays& a) { a.row[2] = 4; }, {"row[2] is 4"}},
       {"a row that stays", [](arrays& a) { a.row[1] = 0; }, {"row[1] is 0"}},
       {"no row has a place", [](arrays& a) { a.row[3] = 1; }, {"row[3] is 1"}},
       {"a column that stays", [](arrays& a) { a.col[2] = 0; }, {"col[2] is 0"}},
       {"a column outside", [](arrays& a) { a.col[6] = 10; }, {"col[6] is 10"}},
       {"a column to the left", [](arrays& a) { a.col[1] = -1; }, {"col[1] is -1"}},
       {"a vector outside", [](arrays& a) { a.col[0] = 10; }, {"col[0] is 10"}},
       {"too few rows", [](arrays& a) { a.col[8] = 25; }, {"too few rows for col[16]"}},
       {"too many rows", [](arrays& a) { a.col[16] = -2; }, {"col[16] is"}}});
}

TEST(vbicrs, refill_sees_an_entry_where_a_hole_was) {
  // Rows of 2 and 1 entries in one group: 1 and 2 have as many slots and, but for bits, the same
  // numbers, since the entry that moved is in the column of the vector's first.
  csr<double> const a(2, 4, {0, 2, 3}, {1, 2, 3}, {1, 2, 3});
  csr<double> const other(2, 4, {0, 1, 3}, {1, 1, 2}, {1, 2, 3});
  auto m = vbicrs<double>::from_csr(a.view(), {.height = 2});
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"vbicrs", "refill"}, [&] { m.refill(other.view()); }));
  EXPECT_EQ(m.to_csr(), a);
}

TEST(vbicrs, options_that_make_no_sense_are_refused) {
  csr<double> const a = from_lengths(9, {2, 0, 3, 1});
  for (int const height : {-1, 3, 16})
    EXPECT_TRUE(fails_with(errc::unsupported, {"vbicrs", "height is", "up to 8"},
                           [&] { vbicrs<double>::from_csr(a.view(), {.height = height}); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"vbicrs", "block is 3"},
                         [&] { vbicrs<double>::from_csr(a.view(), {.block = 3}); }));
}

TEST(vbicrs, what_would_be_all_holes_is_refused) {
  csr<double> const a = from_lengths(9, std::vector<std::int32_t>(40000, 1));
  EXPECT_TRUE(fails_with(errc::unsupported, {"vbicrs", "times those of csr", "limit is 2"},
                         [&] { vbicrs<double>::from_csr(a.view(), {.height = 1, .limit = 2}); }));
}

} // namespace
} // namespace tulle::test::vbicrs_test
