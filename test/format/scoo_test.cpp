// SPDX-License-Identifier: Apache-2.0

// scoo: the matrix of the thesis, array by array; tall slices; options and arrays that are none.
#include "tulle/format/scoo.hpp"

#include "support/broken.hpp"
#include "support/expect.hpp"
#include "support/liu.hpp"
#include "support/zoo.hpp"

namespace tulle::test::scoo_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;
using shorts = array<std::uint16_t>;

// Slices of 3 rows, as in figure 5.10. Figure 5.11 is not in the text; by hand, then.
TEST(scoo, liu_figure_5_11) {
  csr<double> const a = liu_a5();
  auto const b = scoo<double>::from_csr(a.view(), {.rows = 3});
  EXPECT_EQ(b.slice_ptr, (ints{0, 8, 14}));
  EXPECT_EQ(b.row, (shorts{0, 1, 2, 0, 2, 1, 2, 2, 0, 1, 0, 1, 2, 2}));
  EXPECT_EQ(b.col, (ints{0, 0, 0, 1, 1, 2, 4, 5, 2, 2, 3, 3, 4, 5}));
  EXPECT_EQ(b.val, (doubles{1, 1, 1, 2, 2, 2, 3, 4, 1, 1, 2, 2, 1, 2}));
  EXPECT_EQ(b.to_csr(), a);
}

// Enough entries for a sort by digits of the column, and rows beyond 256.
TEST(scoo, a_slice_ascends_by_column_then_row) {
  csr<double> const a = from_lengths(70000, std::vector<std::int32_t>(900, 7));
  for (int const rows : {1, 30, 900, 4096}) {
    auto b = scoo<double>::from_csr(a.view(), {.rows = rows});
    EXPECT_NO_THROW(b.validate()) << rows;
    EXPECT_EQ(b.to_csr(), a) << rows;
  }
}

TEST(scoo, options_that_make_no_sense_are_refused) {
  csr<double> const a = liu_a5();
  for (int const rows : {-1, 0, 4097})
    EXPECT_TRUE(fails_with(errc::unsupported, {"scoo", "rows", std::to_string(rows), "1 to 4096"},
                           [&] { scoo<double>::from_csr(a.view(), {.rows = rows}); }));
}

// Two slices, of two rows and of one.
struct arrays {
  std::int32_t rows = 3, cols = 4;
  int height = 2;
  std::vector<std::int32_t> slice_ptr = {0, 3, 4}, col = {0, 1, 1, 3};
  std::vector<std::uint16_t> row = {1, 0, 1, 0};
  std::vector<double> val = {1, 2, 3, 4};
  void view() const { scoo_view<double>(rows, cols, height, slice_ptr, row, col, val); }
};

TEST(scoo, broken_arrays_are_refused) {
  expect_refused<arrays>(
      {{"rows negative", [](arrays& m) { m.rows = -1; }, {"scoo", "-1"}},
       {"no height", [](arrays& m) { m.height = 0; }, {"slices of 0 rows"}},
       {"too high",
        [](arrays& m) {
          m.height = 4097;
          m.slice_ptr = {0, 4};
        },
        {"of 4097 rows"}},
       {"a pointer less", [](arrays& m) { m.slice_ptr.pop_back(); }, {"2 pointers for 2 slices"}},
       {"pointers decrease", [](arrays& m) { m.slice_ptr[1] = 5; }, {"slice_ptr", "from 5"}},
       {"they end early", [](arrays& m) { m.slice_ptr[2] = 3; }, {"slice_ptr ends at 3"}},
       {"a row missing", [](arrays& m) { m.row.pop_back(); }, {"3 rows, 4 columns"}},
       {"a column missing", [](arrays& m) { m.col.pop_back(); }, {"4 rows, 3 columns"}},
       {"row at the height", [](arrays& m) { m.row[0] = 2; }, {"row[0] is 2", "slice 0 has 2"}},
       {"row behind the last", [](arrays& m) { m.row[3] = 1; }, {"row[3] is 1", "slice 1 has 1"}},
       {"column at the limit", [](arrays& m) { m.col[3] = 4; }, {"col[3] is 4"}},
       {"columns descend", [](arrays& m) { m.col[0] = 2; }, {"column 1 of slice 0", "at 1"}},
       {"an entry twice", [](arrays& m) { m.row[2] = 0; }, {"row 0, column 1", "at 2"}}});
}

} // namespace
} // namespace tulle::test::scoo_test
