// SPDX-License-Identifier: Apache-2.0

// bicrs: the example of the paper, number by number; parts; arrays that are none.
#include "tulle/format/bicrs.hpp"

#include "format/detail/bicrs_parts.hpp"
#include "support/broken.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::bicrs_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;

// Yzelman, sec. II: the first nine entries of figure 1, 8 x 8 in blocks of 1, by their rows and
// columns. Values are their places along the curve.
csr<double> figure_1() {
  return {
      8, 8, {0, 3, 3, 3, 3, 3, 4, 7, 9}, {0, 1, 2, 1, 0, 1, 2, 2, 3}, {7, 8, 9, 6, 1, 2, 5, 3, 4}};
}

TEST(bicrs, yzelman_figure_1) {
  csr<double> const a = figure_1();
  auto const b = bicrs<double>::from_csr(a.view(), {.block = 1});
  EXPECT_EQ(b.row, (ints{6, 1, -1, -1, -5}));
  EXPECT_EQ(b.col, (ints{0, 1, 9, 1, 7, 7, 7, 1, 1}));
  EXPECT_EQ(b.val, (doubles{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(b.part_row, (ints{0, 8}));
  EXPECT_EQ(b.part_ptr, (ints{0, 9}));
  EXPECT_EQ(b.part_jump, (ints{0, 5}));
  EXPECT_EQ(b.to_csr(), a);
}

// Without blocks it goes row by row, and an empty row costs nothing.
TEST(bicrs, one_block_is_in_order_of_rows) {
  auto const b = bicrs<double>::from_csr(borrowed(figure_1()));
  EXPECT_EQ(b.row, (ints{0, 5, 1, 1}));
  EXPECT_EQ(b.col, (ints{0, 1, 1, 7, 7, 1, 1, 8, 1}));
}

// Greedily: rows while entries and rows are no more than 5; each part begins anew.
TEST(bicrs, parts_take_rows_while_they_fit) {
  auto const b = bicrs<double>::from_csr(borrowed(figure_1()), {.part = 5});
  EXPECT_EQ(b.part_row, (ints{0, 2, 6, 7, 8}));
  EXPECT_EQ(b.part_ptr, (ints{0, 3, 4, 7, 9}));
  EXPECT_EQ(b.part_jump, (ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(b.row, (ints{0, 3, 0, 0}));
  EXPECT_EQ(b.col, (ints{0, 1, 1, 1, 0, 1, 1, 2, 1}));
  EXPECT_EQ(b.to_csr(), figure_1());
}

TEST(bicrs, the_curve_visits_each_block_once_and_goes_to_a_neighbour) {
  for (int bits = 0; bits <= 5; ++bits) {
    std::size_t const side = std::size_t(1) << bits;
    std::vector<std::pair<std::size_t, std::size_t>> at(side * side, {side, side});
    for (std::size_t i = 0; i < side; ++i)
      for (std::size_t j = 0; j < side; ++j)
        at[detail::hilbert(i, j, bits)] = {i, j};
    EXPECT_EQ(at.front(), std::pair(side - 1, std::size_t(0)));
    EXPECT_EQ(at.back(), std::pair(side - 1, side - 1));
    for (std::size_t k = 1; k < at.size(); ++k) {
      auto const apart = [](std::size_t a, std::size_t b) { return a < b ? b - a : a - b; };
      ASSERT_EQ(apart(at[k].first, at[k - 1].first) + apart(at[k].second, at[k - 1].second), 1u);
    }
  }
}

// Columns that an index can count, but not twice as many: sums are modulo.
TEST(bicrs, as_many_columns_as_an_index_counts) {
  using tiny = std::int8_t;
  csr<double, tiny, tiny> const a(3, 127, {0, 2, 3, 5}, {0, 126, 126, 0, 1}, {1, 2, 3, 4, 5});
  for (int const block : {0, 1, 32}) {
    auto const b = bicrs<double, tiny, tiny>::from_csr(a.view(), {.block = block});
    EXPECT_NO_THROW(b.validate());
    EXPECT_EQ(b.to_csr(), a) << block;
  }
}

struct arrays {
  std::int32_t rows = 4, cols = 4;
  int block = 2;
  std::vector<std::int32_t> part_row = {0, 4}, part_ptr = {0, 7}, part_jump = {0, 6},
                            row = {3, -3, 1, -1, 2, 1}, col = {0, 1, 3, 5, 5, 5, 3};
  std::vector<double> val = {5, 6, 1, 3, 2, 4, 7};
  bicrs_view<double> view() const {
    return {rows, cols, block, {part_row, part_ptr, part_jump, row, col, val}};
  }
};

TEST(bicrs, broken_arrays_are_refused) {
  EXPECT_EQ(borrowed(arrays()).to_csr().col, (ints{0, 2, 1, 3, 0, 1, 2}));
  expect_refused<arrays>(
      {{"rows negative", [](arrays& a) { a.rows = -1; }, {"-1"}},
       {"no part", [](arrays& a) { a.part_row = a.part_ptr = a.part_jump = {}; }, {"part"}},
       {"a row more", [](arrays& a) { a.rows = 5; }, {"all of 5 rows"}},
       {"an empty part",
        [](arrays& a) {
          a.part_row = {0, 0, 4};
          a.part_ptr = {0, 0, 7};
          a.part_jump = {0, 0, 6};
        },
        {"part_row[1] is 0 after 0"}},
       {"pointers of another size", [](arrays& a) { a.part_ptr = {0}; }, {"part_ptr has 1"}},
       {"jumps of another size", [](arrays& a) { a.part_jump = {0}; }, {"part_jump has 1"}},
       {"pointers end early", [](arrays& a) { a.part_ptr[1] = 6; }, {"part_ptr ends at 6"}},
       {"jumps end early", [](arrays& a) { a.part_jump[1] = 5; }, {"part_jump ends at 5"}},
       {"no power of two", [](arrays& a) { a.block = 3; }, {"blocks of 3"}},
       {"a column missing", [](arrays& a) { a.col.pop_back(); }, {"col has 6"}},
       {"a column outside", [](arrays& a) { a.col[1] = 8; }, {"col[1]", "4 columns"}},
       {"a column before the first", [](arrays& a) { a.col[0] = -1; }, {"col[0]"}},
       {"a row outside", [](arrays& a) { a.row[0] = 4; }, {"row[0] is 4"}},
       {"a row before the first", [](arrays& a) { a.row[1] = -4; }, {"row[1] is -4"}},
       {"a row that stays", [](arrays& a) { a.row[2] = 0; }, {"row[2] is 0"}},
       {"too few rows",
        [](arrays& a) {
          a.row.pop_back();
          a.part_jump[1] = 5;
        },
        {"wants one more"}},
       {"too many rows",
        [](arrays& a) {
          a.row.push_back(0);
          a.part_jump[1] = 7;
        },
        {"1 rows that no entry is in"}},
       {"another order", [](arrays& a) { a.block = 4; }, {"comes too late"}},
       {"an entry twice", [](arrays& a) { a.col[1] = 0; }, {"comes too late"}}});
}

TEST(bicrs, options_that_make_no_sense_are_refused) {
  csr<double> const a = figure_1();
  for (int const block : {-1, 3, 24})
    EXPECT_TRUE(fails_with(errc::unsupported, {"bicrs", "block is", "power of two"},
                           [&] { bicrs<double>::from_csr(a.view(), {.block = block}); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"bicrs", "part is 0"},
                         [&] { bicrs<double>::from_csr(a.view(), {.part = 0}); }));
}

} // namespace
} // namespace tulle::test::bicrs_test
