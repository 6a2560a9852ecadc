// SPDX-License-Identifier: Apache-2.0

// csr_adaptive: the matrix of the thesis, array by array; where blocks end; arrays that are none.
#include "tulle/format/csr_adaptive.hpp"

#include "support/broken.hpp"
#include "support/expect.hpp"
#include "support/liu.hpp"
#include "support/zoo.hpp"

namespace tulle::test::csr_adaptive_test {
namespace {

using ints = array<std::int32_t>;

// The figure's picture is missing; its words are: up to 4 entries a block, two rows in the first,
// one in the second.
TEST(csr_adaptive, liu_figure_5_17) {
  csr<double> const a = liu_a5();
  auto const b = csr_adaptive<double>::from_csr(a.view(), {.entries = 4});
  EXPECT_EQ(b.row_ptr, (ints{0, 2, 4, 8, 10, 12, 14}));
  EXPECT_EQ(b.col, a.col);
  EXPECT_EQ(b.val, a.val);
  EXPECT_EQ(b.row_block, (ints{0, 2, 3, 5, 6}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(csr_adaptive, a_long_row_is_alone_and_a_longer_one_in_several_blocks) {
  csr<double> const a = from_lengths(40, {1, 5, 1, 8, 1, 9, 24, 25, 1});
  auto const b = csr_adaptive<double>::from_csr(a.view(), {.entries = 2});
  // Up to 8 in one block; 9, 24 and 25 in blocks of 8.
  EXPECT_EQ(b.row_block, (ints{0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 7, 7, 7, 7, 8, 9}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(csr_adaptive, a_block_has_no_more_rows_than_entries) {
  csr<double> const a = from_lengths(4, {0, 0, 0, 0, 0, 1, 0});
  EXPECT_EQ(csr_adaptive<double>::from_csr(a.view(), {.entries = 3}).row_block, (ints{0, 3, 6, 7}));
}

TEST(csr_adaptive, a_block_ends_where_a_stretch_of_rows_does) {
  std::vector<std::int32_t> const lengths(16390, 1);
  csr<double> const a = from_lengths(4, lengths);
  auto const b = csr_adaptive<double>::from_csr(a.view(), {.entries = 1000});
  EXPECT_EQ(b.row_block.size(), 19u);
  EXPECT_EQ(b.row_block[16], 16000);
  EXPECT_EQ(b.row_block[17], 16384);
  EXPECT_EQ(b.row_block[18], 16390);
  EXPECT_EQ(b.to_csr(), a);
}

TEST(csr_adaptive, options_that_make_no_sense_are_refused) {
  csr<double> const a = liu_a5();
  for (int const entries : {0, -1, 4097})
    EXPECT_TRUE(fails_with(errc::unsupported,
                           {"csr_adaptive", "entries", std::to_string(entries), "1 to 4096"},
                           [&] { csr_adaptive<double>::from_csr(a.view(), {entries}); }));
}

struct arrays {
  csr<double> a =
      from_lengths(40, {1, 1, 1, 17, 2}); // in blocks of 2, and of 8 where a row is long
  int entries = 2;
  std::vector<std::int32_t> row_block = {0, 2, 3, 3, 3, 4, 5};
  void view() const { csr_adaptive_view<double>(a.view(), entries, row_block); }
};

TEST(csr_adaptive, broken_arrays_are_refused) {
  expect_refused<arrays>(
      {{"blocks begin late", [](arrays& m) { m.row_block[0] = 1; }, {"row_block[0] is 1"}},
       {"blocks decrease", [](arrays& m) { m.row_block[1] = 4; }, {"from 4 to 3"}},
       {"blocks end early", [](arrays& m) { m.row_block.pop_back(); }, {"ends at 4"}},
       {"a block behind the last row", [](arrays& m) { m.row_block.push_back(5); }, {"no more"}},
       {"no blocks", [](arrays& m) { m.row_block.clear(); }, {"row_block"}},
       {"a part less",
        [](arrays& m) { m.row_block.erase(m.row_block.begin() + 2); },
        {"row 3 of 17 entries has 2 blocks, not 3"}},
       {"a part more",
        [](arrays& m) { m.row_block.insert(m.row_block.begin() + 2, 3); },
        {"row 3 of 17 entries has 4 blocks, not 3"}},
       {"too many entries",
        [](arrays& m) { m.row_block.erase(m.row_block.begin() + 1); },
        {"block 0 has 3 rows of 3 entries"}},
       {"entries of no block", [](arrays& m) { m.entries = 0; }, {"blocks of 0 entries"}},
       {"the csr is broken", [](arrays& m) { m.a.col[3] = 40; }, {"col[3] is 40"}}});
}

} // namespace
} // namespace tulle::test::csr_adaptive_test
