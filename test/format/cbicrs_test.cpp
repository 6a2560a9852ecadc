// SPDX-License-Identifier: Apache-2.0

// cbicrs: blocks by hand; 16 bits to their ends; arrays that are none.
#include "tulle/format/cbicrs.hpp"

#include "support/broken.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::cbicrs_test {
namespace {

using ints = array<std::int32_t>;
using shorts = array<std::int16_t>;
using doubles = array<double>;

// Yzelman, figure 1, the first nine entries, in blocks of 4: by hand. The curve begins below.
TEST(cbicrs, yzelman_figure_1_in_blocks_of_4) {
  csr<double> const a(8, 8, {0, 3, 3, 3, 3, 3, 4, 7, 9}, {0, 1, 2, 1, 0, 1, 2, 2, 3},
                      {7, 8, 9, 6, 1, 2, 5, 3, 4});
  auto const b = cbicrs<double>::from_csr(a.view(), {.block = 4});
  EXPECT_EQ(b.part_row, (ints{0, 8}));
  EXPECT_EQ(b.part_block, (ints{0, 2}));
  EXPECT_EQ(b.block_row, (ints{1, 0}));
  EXPECT_EQ(b.block_col, (ints{0, 0}));
  EXPECT_EQ(b.block_ptr, (ints{0, 6, 9}));
  EXPECT_EQ(b.jump_ptr, (ints{0, 3, 4}));
  EXPECT_EQ(b.row, (shorts{1, 1, 1, 0}));
  EXPECT_EQ(b.col, (shorts{1, 3, 1, 1, 4, 1, 0, 1, 1}));
  EXPECT_EQ(b.val, (doubles{6, 1, 2, 5, 3, 4, 7, 8, 9}));
  EXPECT_EQ(b.to_csr(), a);
}

// Corners of blocks of 16384: the largest numbers that there are.
TEST(cbicrs, sixteen_bits_to_their_ends) {
  std::int32_t const n = 2 * 16384;
  array<std::int32_t> row_ptr(static_cast<std::size_t>(n) + 1, 0);
  for (std::int32_t i = 0; i < n; ++i) {
    bool const has = i == 0 || i == 1 || i == 16383 || i == 16384 || i == n - 1;
    row_ptr[static_cast<std::size_t>(i) + 1] = row_ptr[static_cast<std::size_t>(i)] + (has ? 3 : 0);
  }
  csr<double> const a(
      n, n, row_ptr,
      {0, 16383, 16384, 1, 16383, n - 1, 0, 16383, n - 1, 0, 16384, n - 1, 0, 16383, n - 1},
      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  auto const b = cbicrs<double>::from_csr(a.view());
  EXPECT_NO_THROW(b.validate());
  EXPECT_EQ(b.to_csr(), a);
  EXPECT_EQ(b.block_row, (ints{1, 0, 0, 1}));
  EXPECT_EQ(b.block_col, (ints{0, 0, 1, 1}));
  EXPECT_EQ(b.row, (shorts{0, 16383, 0, 1, 16382, 0, 1, 16382, 0, 16383}));
  EXPECT_EQ(b.col, (shorts{0, 16384, 16383, 0, 16383, 2, 16382, 1, 16383, 0, 32767, 16384, 0, 16383,
                           16384}));
}

struct arrays {
  std::int32_t rows = 4, cols = 4;
  int block = 2;
  std::vector<std::int32_t> part_row = {0, 4}, part_block = {0, 4}, block_row = {1, 0, 0, 1},
                            block_col = {0, 0, 1, 1}, block_ptr = {0, 2, 4, 5, 7},
                            jump_ptr = {0, 1, 3, 4, 6};
  std::vector<std::int16_t> row = {1, 0, 1, 0, 0, 1}, col = {0, 1, 0, 3, 0, 1, 1};
  std::vector<double> val = {5, 6, 1, 3, 2, 4, 7};
  cbicrs_view<double> view() const {
    return {rows,
            cols,
            block,
            {part_row, part_block, block_row, block_col, block_ptr, jump_ptr, row, col, val, {}}};
  }
};

TEST(cbicrs, broken_arrays_are_refused) {
  EXPECT_EQ(borrowed(arrays()).to_csr().col, (ints{0, 2, 1, 3, 0, 1, 2}));
  expect_refused<arrays>(
      {{"columns negative", [](arrays& a) { a.cols = -1; }, {"-1"}},
       {"a row more", [](arrays& a) { a.rows = 5; }, {"all of 5 rows"}},
       {"too large a block", [](arrays& a) { a.block = 32768; }, {"blocks of 32768"}},
       {"no block", [](arrays& a) { a.block = 0; }, {"blocks of 0"}},
       {"parts of another size", [](arrays& a) { a.part_block = {0}; }, {"part_block has 1"}},
       {"a block column less", [](arrays& a) { a.block_col.pop_back(); }, {"block_col has 3"}},
       {"a pointer less", [](arrays& a) { a.block_ptr.pop_back(); }, {"block_ptr has 4"}},
       {"a jump less", [](arrays& a) { a.jump_ptr.pop_back(); }, {"jump_ptr has 4"}},
       {"blocks end early", [](arrays& a) { a.part_block[1] = 3; }, {"part_block ends at 3"}},
       {"entries end early", [](arrays& a) { a.block_ptr[4] = 6; }, {"block_ptr ends at 6"}},
       {"rows end early", [](arrays& a) { a.jump_ptr[4] = 5; }, {"jump_ptr ends at 5"}},
       {"a block below", [](arrays& a) { a.block_row[0] = 2; }, {"block_row[0] is 2"}},
       {"a block above", [](arrays& a) { a.block_row[0] = -1; }, {"block_row[0] is -1"}},
       {"a block beyond", [](arrays& a) { a.block_col[0] = 2; }, {"block_col[0] is 2"}},
       {"a block twice", [](arrays& a) { a.block_row[1] = 1; }, {"block 1 does not come after"}},
       {"an empty block", [](arrays& a) { a.block_ptr[2] = 2; }, {"block 1 is empty"}},
       {"a row outside", [](arrays& a) { a.row[0] = 2; }, {"row[0] is 2"}},
       {"a row that stays", [](arrays& a) { a.row[2] = 0; }, {"row[2] is 0"}},
       {"a column that stays", [](arrays& a) { a.col[1] = 0; }, {"col[1] is 0"}},
       {"a column outside", [](arrays& a) { a.col[0] = 2; }, {"col[0] is 2"}},
       {"a column below", [](arrays& a) { a.col[0] = -1; }, {"col[0] is -1"}},
       {"too many rows", [](arrays& a) { a.jump_ptr[1] = 2; }, {"1 rows that no entry is in"}},
       {"too few rows", [](arrays& a) { a.col[1] = 2; }, {"too few rows for col[1]"}}});
}

// A column that equals the one stored in its low 16 bits.
TEST(cbicrs, refill_looks_at_all_bits_of_a_column) {
  csr<double> const a(1, 200000, {0, 3}, {5, 6, 7}, {1, 2, 3});
  auto m = cbicrs<double>::from_csr(a.view());
  csr<double> other = a;
  other.col[1] += 65536;
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"cbicrs", "refill"}, [&] { m.refill(other.view()); }));
}

TEST(cbicrs, options_that_make_no_sense_are_refused) {
  csr<double> const a = from_lengths(9, {2, 0, 3, 1});
  for (int const block : {0, -2, 3, 32768})
    EXPECT_TRUE(fails_with(errc::unsupported, {"cbicrs", "block is", "up to 16384"},
                           [&] { cbicrs<double>::from_csr(a.view(), {.block = block}); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"cbicrs", "part is -1"},
                         [&] { cbicrs<double>::from_csr(a.view(), {.part = -1}); }));
}

} // namespace
} // namespace tulle::test::cbicrs_test
