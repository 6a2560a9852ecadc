// SPDX-License-Identifier: Apache-2.0

// csr_pool: a matrix with room behind its rows, and in pieces, array by array; options and arrays
// that are none.
#include "tulle/format/csr_pool.hpp"
#include "tulle/op/spmv.hpp"

#include "support/broken.hpp"
#include "support/liu.hpp"
#include "support/zoo.hpp"

#include <cmath>

namespace tulle::test::csr_pool_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;

TEST(csr_pool, rows_have_room_behind_them) {
  csr<double> const a = liu_a5();
  auto const b = csr_pool<double>::from_csr(a.view());
  EXPECT_EQ(b.length, (ints{2, 2, 4, 2, 2, 2}));
  EXPECT_EQ(b.in_group, (ints{14}));
  EXPECT_EQ(b.begin, (ints{0, 3, 6, 11, 14, 17}));
  EXPECT_EQ(b.end, (ints{3, 6, 11, 14, 17, 20}));
  EXPECT_EQ(b.col, (ints{0, 1, -1, 0, 2, -1, 0, 1, 4, 5, -1, 2, 3, -1, 2, 3, -1, 4, 5, -1}));
  EXPECT_EQ(b.val, (doubles{1, 2, 0, 1, 2, 0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(csr_pool, pieces_of_a_row_lie_behind_those_of_all_rows_before) {
  csr<double> const a = liu_a5();
  auto const b = csr_pool<double>::from_csr(a.view(), {.segments = 3, .plus = 0});
  EXPECT_EQ(b.length, (ints{~2, ~2, ~4, ~2, ~2, ~2}));
  EXPECT_EQ(b.begin, (ints{0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 13, 14, 14, 14}));
  EXPECT_EQ(b.end, (ints{1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 13, 13, 14, 14, 14, 14}));
  EXPECT_EQ(b.col, (ints{0, 0, 0, 1, 2, 2, 4, 1, 2, 4, 3, 3, 5, 5}));
  EXPECT_EQ(b.val, (doubles{1, 1, 1, 2, 1, 1, 1, 2, 2, 3, 2, 2, 2, 4}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(csr_pool, room_goes_by_the_length_and_empty_rows_have_none) {
  csr<double> const a = from_lengths(40, {0, 1, 10, 0, 30});
  auto const b = csr_pool<double>::from_csr(a.view(), {.factor = .5, .plus = 2});
  EXPECT_EQ(b.begin, (ints{0, 0, 3, 20, 20}));
  EXPECT_EQ(b.end, (ints{0, 3, 20, 20, 67}));
  auto const tight = csr_pool<double>::from_csr(a.view(), {.factor = 0, .plus = 0});
  EXPECT_EQ(tight.col, a.col);
  EXPECT_EQ(tight.val, a.val);
}

TEST(csr_pool, groups_of_256_rows_count_their_entries) {
  csr<double> const a = from_lengths(9, std::vector<std::int32_t>(600, 2));
  EXPECT_EQ(csr_pool<double>::from_csr(a.view()).in_group, (ints{512, 512, 176}));
}

TEST(csr_pool, options_out_of_range_are_refused) {
  csr<double> const a = liu_a5();
  auto const refused = [&](errc code, std::vector<std::string> const& words, csr_pool_options o) {
    EXPECT_TRUE(fails_with(code, words, [&] { csr_pool<double>::from_csr(a.view(), o); }));
  };
  refused(errc::unsupported, {"segments is 0", "1 to 8"}, {.segments = 0});
  refused(errc::unsupported, {"segments is 9", "1 to 8"}, {.segments = 9});
  refused(errc::unsupported, {"factor is -1"}, {.factor = -1});
  refused(errc::unsupported, {"factor is nan"}, {.factor = std::nan("")});
  refused(errc::unsupported, {"plus is -1"}, {.plus = -1});
  refused(errc::overflow, {"places is 6000000014", "32-bit"}, {.plus = 1'000'000'000});
}

struct arrays {
  int segments = 2;
  std::vector<std::int32_t> length = {~2, 1, 1, ~3}, in_group = {7},
                            begin = {0, 1, 2, 3, 5, 7, 8, 9}, end = {1, 2, 3, 5, 7, 8, 9, 11},
                            col = {0, 1, 3, 0, 1, 2, -1, -1, -1, 2, -1};
  std::vector<double> val = {1, 3, 4, 5, 6, 2, 0, 0, 0, 7, 0};
  csr_pool_view<double> view() const {
    return {4, 4, segments, length, in_group, begin, end, col, val};
  }
};

TEST(csr_pool, broken_arrays_are_refused) {
  expect_refused<arrays>(
      {{"no segments", [](arrays& m) { m.segments = 0; }, {"for 0 segments"}},
       {"too many segments",
        [](arrays& m) {
          m.segments = 9;
          m.begin.resize(36, 0);
          m.end.resize(36, 0);
        },
        {"9 segments", "1 to 8"}},
       {"a length less", [](arrays& m) { m.length.pop_back(); }, {"3 lengths"}},
       {"a group more", [](arrays& m) { m.in_group.push_back(0); }, {"2 groups"}},
       {"a begin less", [](arrays& m) { m.begin.pop_back(); }, {"7 begins and 8 ends"}},
       {"an end less", [](arrays& m) { m.end.pop_back(); }, {"8 begins and 7 ends"}},
       {"a column less", [](arrays& m) { m.col.pop_back(); }, {"10 columns but 11 values"}},
       {"a segment before the pool", [](arrays& m) { m.begin[0] = -1; }, {"row 0", "outside"}},
       {"a segment behind it", [](arrays& m) { m.end[7] = 12; }, {"row 3", "outside"}},
       {"an end before its begin", [](arrays& m) { m.end[5] = 6; }, {"row 1", "outside"}},
       {"segments overlap", [](arrays& m) { m.begin[5] = 6; }, {"row 1", "overlaps"}},
       {"a length inverted", [](arrays& m) { m.length[1] = ~1; }, {"row 1", "marked"}},
       {"a length that is not", [](arrays& m) { m.length[3] = 3; }, {"row 3", "marked"}},
       {"a row too long", [](arrays& m) { m.length[0] = ~4; }, {"row 0", "more entries than room"}},
       {"another count", [](arrays& m) { m.in_group[0] = 8; }, {"group counts other entries"}},
       {"column at the limit", [](arrays& m) { m.col[9] = 4; }, {"row 3", "column"}},
       {"column negative", [](arrays& m) { m.col[3] = -1; }, {"row 3", "column"}},
       {"a column again", [](arrays& m) { m.col[4] = 2; }, {"column 2 of row 3 follows 2"}},
       {"columns descend", [](arrays& m) { m.col[3] = 3; }, {"column 1 of row 3 follows 3"}}});
}

TEST(csr_pool, another_number_of_entries_and_null_are_refused) {
  arrays const m;
  csr_pool_view<double> a = m.view();
  EXPECT_EQ(a.nnz, 7);
  a.nnz = 6;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"7 entries, expected 6"}, [&] { a.validate(); }));
  csr_pool<double> b = csr_pool<double>::from_csr(borrowed(liu_a5()));
  b.nnz = 0;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"14 entries, expected 0"}, [&] { b.validate(); }));
  a = m.view();
  a.places = -1;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"-1 places"}, [&] { a.validate(); }));
  a = m.view();
  a.val = nullptr;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"val is null"}, [&] { a.validate(); }));
}

// As in the pool of a dynamic matrix, where nobody clears it.
TEST(csr_pool, room_may_hold_anything) {
  arrays m;
  m.col[6] = m.col[10] = 77;
  m.val[6] = std::nan("");
  csr<double> const expected(4, 4, {0, 2, 3, 4, 7}, {0, 2, 1, 3, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(m.view().to_csr(), expected);
  std::vector<double> y(4);
  spmv(1.0, m.view(), std::vector<double>{1, 10, 100, 1000}, 0.0, y);
  EXPECT_EQ(y, (std::vector<double>{201, 30, 4000, 765}));
  spmv(1.0, transposed(m.view()), std::vector<double>{1, 10, 100, 1000}, 0.0, y);
  EXPECT_EQ(y, (std::vector<double>{5001, 6030, 7002, 400}));
}

} // namespace
} // namespace tulle::test::csr_pool_test
