// SPDX-License-Identifier: Apache-2.0

// brc: the matrix of the thesis, array by array; where rows go on; arrays that are none.
#include "tulle/format/brc.hpp"

#include "support/broken.hpp"
#include "support/expect.hpp"
#include "support/liu.hpp"
#include "support/zoo.hpp"

namespace tulle::test::brc_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;

// Blocks of 2 rows by 2. The figure has the columns 0 1 for row 1 and 2 3 for the end of row 2,
// where the matrix has 0 2 and 4 5, and pads the last block to two rows; by hand, then.
TEST(brc, liu_figure_5_15) {
  csr<double> const a = liu_a5();
  auto const b = brc<double>::from_csr(a.view(), {.chunk = 2, .width = 2});
  EXPECT_EQ(b.perm, (ints{2, 0, 1, 3, 4, 5}));
  EXPECT_EQ(b.len, (ints{4, 2, 2, 2, 2, 2}));
  EXPECT_EQ(b.level_rows, (ints{6, 1}));
  EXPECT_EQ(b.level_ptr, (ints{0, 3, 4}));
  EXPECT_EQ(b.block_ptr, (ints{0, 4, 8, 12, 14}));
  EXPECT_EQ(b.col, (ints{0, 0, 1, 1, 0, 2, 2, 3, 2, 4, 3, 5, 4, 5}));
  EXPECT_EQ(b.val, (doubles{1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2, 3, 4}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(brc, a_block_is_padded_to_its_first_row) {
  csr<double> const a(3, 9, {0, 1, 4, 4}, {7, 0, 3, 8}, {5, 1, 2, 3});
  auto const b = brc<double>::from_csr(a.view(), {.chunk = 2, .width = 4});
  EXPECT_EQ(b.level_rows, (ints{2})); // the empty row is in no block
  EXPECT_EQ(b.col, (ints{0, 7, 3, 7, 8, 7}));
  EXPECT_EQ(b.val, (doubles{1, 5, 2, 0, 3, 0}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(brc, a_level_has_the_rows_that_go_on) {
  csr<double> const a = from_lengths(20, {3, 0, 7, 4, 9, 3, 1});
  auto const b = brc<double>::from_csr(a.view(), {.chunk = 2, .width = 3});
  EXPECT_EQ(b.len, (ints{9, 7, 4, 3, 3, 1, 0}));
  EXPECT_EQ(b.level_rows, (ints{6, 3, 2}));
  EXPECT_EQ(b.level_ptr, (ints{0, 3, 5, 6}));
  EXPECT_EQ(b.block_ptr, (ints{0, 6, 12, 18, 24, 25, 31}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(brc, a_matrix_that_would_take_too_much_room_is_refused) {
  std::vector<std::int32_t> lengths(2048, 1);
  lengths[5] = 4000;
  csr<double> const a = from_lengths(4000, lengths);
  EXPECT_TRUE(fails_with(errc::unsupported, {"brc", "limit", "8"},
                         [&] { brc<double>::from_csr(a.view(), {.chunk = 1024, .width = 4000}); }));
  EXPECT_EQ(brc<double>::from_csr(a.view()).to_csr(), a);
}

TEST(brc, options_that_make_no_sense_are_refused) {
  csr<double> const a = liu_a5();
  auto const refused = [&](brc_options o, std::vector<std::string> const& words) {
    EXPECT_TRUE(fails_with(errc::unsupported, words, [&] { brc<double>::from_csr(a.view(), o); }));
  };
  refused({.chunk = 0}, {"brc", "chunk", "0", "1 to 1024"});
  refused({.chunk = 1025}, {"brc", "chunk", "1025"});
  refused({.width = 0}, {"brc", "width", "0", "1 or more"});
  refused({.limit = 0}, {"brc", "limit", "0"});
}

// Rows of 3, 1 and no entries.
struct arrays {
  std::int32_t rows = 3, cols = 9;
  int chunk = 2, width = 2;
  std::vector<std::int32_t> perm = {1, 0, 2}, len = {3, 1, 0}, level_rows = {2, 1},
                            level_ptr = {0, 1, 2}, block_ptr = {0, 4, 5}, col = {0, 7, 3, 7, 8};
  std::vector<double> val = {1, 5, 2, 0, 3};
  void view() const {
    brc_view<double>(rows, cols, chunk, width,
                     {perm, len, level_rows, level_ptr, block_ptr, col, val});
  }
};

TEST(brc, broken_arrays_are_refused) {
  expect_refused<arrays>(
      {{"rows negative", [](arrays& m) { m.rows = -1; }, {"brc", "-1"}},
       {"chunk", [](arrays& m) { m.chunk = 0; }, {"blocks of 0 rows"}},
       {"width", [](arrays& m) { m.width = 0; }, {"by 0"}},
       {"a row less in perm", [](arrays& m) { m.perm.pop_back(); }, {"perm has 2"}},
       {"a length less", [](arrays& m) { m.len.pop_back(); }, {"len has 2"}},
       {"a row twice", [](arrays& m) { m.perm[2] = 1; }, {"perm[2] names row 1 again"}},
       {"row at the limit", [](arrays& m) { m.perm[2] = 3; }, {"perm[2] is 3"}},
       {"length negative", [](arrays& m) { m.len[2] = -1; }, {"brc", "-1"}},
       {"lengths ascend",
        [](arrays& m) {
          m.len = {1, 3, 0};
        },
        {"len[1] is 3 after 1"}},
       {"a level less",
        [](arrays& m) {
          m.level_rows = {2};
          m.level_ptr = {0, 2};
        },
        {"1 levels of 2 for a row of 3"}},
       {"rows of a level", [](arrays& m) { m.level_rows[1] = 2; }, {"level 1 has 2 rows"}},
       {"blocks of a level", [](arrays& m) { m.level_ptr[1] = 2; }, {"level 0 has 2 rows"}},
       {"levels end early", [](arrays& m) { m.level_ptr[2] = 1; }, {"level_ptr"}},
       {"a level pointer less", [](arrays& m) { m.level_ptr.pop_back(); }, {"level_ptr has 2"}},
       {"blocks decrease", [](arrays& m) { m.block_ptr[1] = 6; }, {"block_ptr", "from 6"}},
       {"slots of a block", [](arrays& m) { m.block_ptr[1] = 2; }, {"block 0 has 2 slots"}},
       {"a column missing", [](arrays& m) { m.col.pop_back(); }, {"col has 4"}},
       {"column at the limit", [](arrays& m) { m.col[3] = 9; }, {"col[3] is 9"}},
       {"columns descend", [](arrays& m) { m.col[2] = 0; }, {"col[2] is 0 after 0 in row 1"}},
       {"columns descend to the next block",
        [](arrays& m) { m.col[4] = 3; },
        {"col[4] is 3 after 3 in row 1"}},
       {"padding", [](arrays& m) { m.val[3] = 1; }, {"val[3] is padding"}}});
}

} // namespace
} // namespace tulle::test::brc_test
