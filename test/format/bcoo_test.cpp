// SPDX-License-Identifier: Apache-2.0

// bcoo: the matrix of the thesis, array by array; block rows without blocks; options and arrays
// that are none. Blocks themselves are bcsr's.
#include "tulle/format/bcoo.hpp"

#include "support/broken.hpp"
#include "support/expect.hpp"
#include "support/liu.hpp"

namespace tulle::test::bcoo_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;
using words = array<std::uint64_t>;

// Figure 5.12 is not in the text; figure 5.13 has the same blocks.
TEST(bcoo, liu_figure_5_12) {
  csr<double> const a = liu_a5();
  auto const b = bcoo<double>::from_csr(a.view(), {.rows = 2, .cols = 2});
  EXPECT_EQ(b.block_row, (ints{0, 0, 1, 1, 1, 2, 2}));
  EXPECT_EQ(b.block_col, (ints{0, 1, 0, 1, 2, 1, 2}));
  EXPECT_EQ(b.val, (doubles{1, 2, 1, 0, 0, 0, 2, 0, 1, 2, 0, 0, 0, 0,
                            1, 2, 3, 4, 0, 0, 1, 2, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(b.pattern, (words{0xC33C347}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(bcoo, block_rows_without_blocks_take_no_room) {
  csr<double> const a(9, 4, {0, 0, 0, 1, 1, 1, 1, 1, 2, 2}, {3, 0}, {5, 6});
  auto const b = bcoo<double>::from_csr(a.view(), {.rows = 2, .cols = 2});
  EXPECT_EQ(b.block_row, (ints{1, 3}));
  EXPECT_EQ(b.block_col, (ints{1, 0}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(bcoo, options_that_make_no_sense_are_refused) {
  csr<double> const a = liu_a5();
  EXPECT_TRUE(fails_with(errc::unsupported, {"bcoo", "rows", "9", "1 to 8"},
                         [&] { bcoo<double>::from_csr(a.view(), {.rows = 9}); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"bcoo", "cols", "-1", "1 to 8"},
                         [&] { bcoo<double>::from_csr(a.view(), {.cols = -1}); }));
}

// 2 x 2 blocks over 5 x 4; the first has a hole.
struct arrays {
  std::int32_t rows = 5, cols = 4;
  int height = 2, width = 2;
  std::vector<std::int32_t> block_row = {0, 0, 1}, block_col = {0, 1, 1};
  std::vector<double> val = {1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2};
  std::vector<std::uint64_t> pattern = {0xffd};
  void view() const {
    bcoo_view<double>(rows, cols, height, width, block_row, block_col, val, pattern);
  }
};

TEST(bcoo, broken_arrays_are_refused) {
  expect_refused<arrays>(
      {{"rows negative", [](arrays& m) { m.rows = -1; }, {"bcoo", "-1"}},
       {"no height", [](arrays& m) { m.height = 0; }, {"bcoo", "0 x 2", "1 to 8"}},
       {"a block row missing", [](arrays& m) { m.block_row.pop_back(); }, {"2 block rows, 3"}},
       {"a value missing", [](arrays& m) { m.val.pop_back(); }, {"11 values for 3 blocks"}},
       {"a word too many", [](arrays& m) { m.pattern.push_back(0); }, {"2 words", "12 slots"}},
       {"block row too large", [](arrays& m) { m.block_row[2] = 3; }, {"block_row[2] is 3"}},
       {"block rows descend",
        [](arrays& m) {
          m.block_row = {1, 1, 0};
        },
        {"block_row[2] is 0 after 1"}},
       {"block column too large", [](arrays& m) { m.block_col[2] = 2; }, {"block_col[2] is 2"}},
       {"a block twice", [](arrays& m) { m.block_col[1] = 0; }, {"block_col[1] is 0 after 0"}},
       {"a slot outside", [](arrays& m) { m.block_row[2] = 2; }, {"block 2 stores slot 2"}},
       {"bits beyond", [](arrays& m) { m.pattern[0] |= 0x1000; }, {"beyond", "12 slots"}},
       {"a hole with a value", [](arrays& m) { m.val[1] = 1; }, {"val[1] is a hole"}}});
}

} // namespace
} // namespace tulle::test::bcoo_test
