// SPDX-License-Identifier: Apache-2.0

// bccoo: the matrix of the thesis, array by array; flags of several words; block rows without
// blocks; options and arrays that are none. Blocks themselves are bcsr's.
#include "tulle/format/bccoo.hpp"

#include "support/broken.hpp"
#include "support/expect.hpp"
#include "support/liu.hpp"
#include "support/zoo.hpp"

namespace tulle::test::bccoo_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;
using words = array<std::uint64_t>;

TEST(bccoo, liu_figure_5_14) {
  csr<double> const a = liu_a5();
  auto const b = bccoo<double>::from_csr(a.view(), {.rows = 2, .cols = 2});
  EXPECT_EQ(b.flag, (words{0b0101101})); // T F T T F T F, the lowest bit first
  EXPECT_EQ(b.before, (ints{0}));
  EXPECT_TRUE(b.block_row.empty());
  EXPECT_EQ(b.block_col, (ints{0, 1, 0, 1, 2, 1, 2}));
  EXPECT_EQ(b.val, (doubles{1, 2, 1, 0, 0, 0, 2, 0, 1, 2, 0, 0, 0, 0,
                            1, 2, 3, 4, 0, 0, 1, 2, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(b.pattern, (words{0xC33C347}));
  EXPECT_EQ(b.to_csr(), a);
}

// Rows of 70, 0, 58, 64 and 9 entries: ends within words, at the end of one, and none in one.
TEST(bccoo, before_counts_what_has_ended) {
  csr<double> const a = from_lengths(100, {70, 0, 58, 64, 9});
  auto const b = bccoo<double>::from_csr(a.view(), {.rows = 1, .cols = 1});
  std::uint64_t const all = ~std::uint64_t(0), last = std::uint64_t(1) << 63;
  EXPECT_EQ(b.flag, (words{all, ~(last | std::uint64_t(1) << 5), ~last, 0xff}));
  EXPECT_EQ(b.before, (ints{0, 0, 2, 3}));
  EXPECT_EQ(b.block_row, (ints{0, 2, 3, 4}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(bccoo, options_that_make_no_sense_are_refused) {
  csr<double> const a = liu_a5();
  EXPECT_TRUE(fails_with(errc::unsupported, {"bccoo", "rows", "9", "1 to 8"},
                         [&] { bccoo<double>::from_csr(a.view(), {.rows = 9}); }));
}

// Blocks of 2 x 1 in the first and the third of three block rows; one has a hole.
struct arrays {
  std::int32_t rows = 6, cols = 4;
  int height = 2, width = 1;
  std::vector<std::uint64_t> flag = {1};
  std::vector<std::int32_t> before = {0}, block_row = {0, 2}, block_col = {0, 3, 1};
  std::vector<double> val = {1, 0, 2, 3, 4, 5};
  std::vector<std::uint64_t> pattern = {0x3d};
  void view() const {
    bccoo_view<double>(rows, cols, height, width,
                       {flag, before, block_row, block_col, val, pattern});
  }
};

TEST(bccoo, broken_arrays_are_refused) {
  expect_refused<arrays>(
      {{"rows negative", [](arrays& m) { m.rows = -1; }, {"bccoo", "-1"}},
       {"no width", [](arrays& m) { m.width = 0; }, {"bccoo", "2 x 0", "1 to 8"}},
       {"no flags", [](arrays& m) { m.flag.clear(); }, {"flag has 0 elements, expected 1"}},
       {"no counts", [](arrays& m) { m.before.clear(); }, {"before has 0 elements, expected 1"}},
       {"a value missing", [](arrays& m) { m.val.pop_back(); }, {"5 values for 3 blocks"}},
       {"a bit beyond",
        [](arrays& m) {
          m.flag = {9};
          m.block_row = {0};
        },
        {"flag", "the last of 3 blocks"}},
       {"the last goes on",
        [](arrays& m) {
          m.flag = {5};
          m.block_row = {0};
        },
        {"flag", "the last of 3 blocks"}},
       {"a count that is off", [](arrays& m) { m.before[0] = 1; }, {"before[0] is 1, but 0"}},
       {"more ends than block rows",
        [](arrays& m) {
          m.rows = 2;
          m.flag[0] = 0;
          m.block_row.clear();
        },
        {"flag ends 3 block rows"}},
       {"a block row missing", [](arrays& m) { m.block_row.pop_back(); }, {"block_row has 1"}},
       {"block row too large", [](arrays& m) { m.block_row[1] = 3; }, {"block_row[1] is 3"}},
       {"block rows descend", [](arrays& m) { m.block_row[1] = 0; }, {"block_row[1] is 0 after 0"}},
       {"block column too large", [](arrays& m) { m.block_col[2] = 4; }, {"block_col[2] is 4"}},
       {"columns descend", [](arrays& m) { m.block_col[1] = 0; }, {"block_col[1] is 0 after 0"}},
       {"a slot outside", [](arrays& m) { m.rows = 5; }, {"block 2 stores slot 1"}},
       {"a hole with a value", [](arrays& m) { m.val[1] = 1; }, {"val[1] is a hole"}}});
}

} // namespace
} // namespace tulle::test::bccoo_test
