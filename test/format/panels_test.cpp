// SPDX-License-Identifier: Apache-2.0

// panels: what a tile is made of, columns by their entries, arrays that are not tiles, options that
// are not there.
#include "tulle/format/panels.hpp"

#include "format/detail/alike.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::panels_test {
namespace {

using ints = array<std::int32_t>;
using shorts = array<std::uint16_t>;
using doubles = array<double>;
using words = std::vector<std::string>;

/// Rows of those lengths, from column 0 on; values count up.
csr<double> staircase(std::int32_t cols, std::vector<std::int32_t> const& lengths) {
  std::size_t nnz = 0;
  for (std::int32_t const n : lengths)
    nnz += static_cast<std::size_t>(n);
  csr<double> a(unchecked, static_cast<std::int32_t>(lengths.size()), cols,
                ints(lengths.size() + 1), ints(nnz), doubles(nnz));
  std::size_t k = 0;
  a.row_ptr[0] = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    for (std::int32_t j = 0; j < lengths[i]; ++j, ++k) {
      a.col[k] = j;
      a.val[k] = static_cast<double>(k + 1);
    }
    a.row_ptr[i + 1] = static_cast<std::int32_t>(k);
  }
  return a;
}

// Lengths 4, 3, 3, 1 in lanes of two: rows 0 and 1 share three, and one entry of row 0 is left;
// rows 2 and 3 share one, and two entries of row 2 are left: a piece.
TEST(panels, rows_stand_side_by_side_and_the_rest_follows) {
  csr<double> const a = staircase(8, {4, 3, 3, 1});
  auto const m = panels<double>::from_csr(a.view(), {.width = 8, .lanes = 2, .piece = 2});
  EXPECT_EQ(m.run_len, (ints{3, 1, -2, -1}));
  EXPECT_EQ(m.run_count, (ints{1, 1, 1, 1}));
  EXPECT_EQ(m.row, (shorts{0, 1, 2, 3, 2, 0}));
  EXPECT_EQ(m.col, (shorts{0, 0, 1, 1, 2, 2, 0, 0, 1, 2, 3}));
  EXPECT_EQ(m.val, (doubles{1, 5, 2, 6, 3, 7, 8, 11, 9, 10, 4}));
  EXPECT_EQ(m.to_csr(), a);
}

// The same with larger pieces: what is left goes entry by entry, by column.
TEST(panels, short_rests_go_entry_by_entry) {
  csr<double> const a = staircase(8, {4, 3, 3, 1});
  auto const m = panels<double>::from_csr(a.view(), {.width = 8, .lanes = 2, .piece = 3});
  EXPECT_EQ(m.run_len, (ints{3, 1, -1}));
  EXPECT_EQ(m.run_count, (ints{1, 1, 3}));
  EXPECT_EQ(m.row, (shorts{0, 1, 2, 3, 2, 2, 0}));
  EXPECT_EQ(m.to_csr(), a);
}

// A row much longer than its neighbours does not stand beside them.
TEST(panels, a_long_row_stands_alone) {
  csr<double> const a = staircase(64, {60, 2, 2, 2, 2});
  auto const m = panels<double>::from_csr(a.view(), {.width = 64, .lanes = 4});
  EXPECT_EQ(m.run_len, (ints{2, -60}));
  EXPECT_EQ(m.row, (shorts{1, 2, 3, 4, 0}));
  EXPECT_EQ(m.to_csr(), a);
}

TEST(panels, rows_are_grouped_and_columns_cut) {
  csr<double> const a = staircase(5, {5, 5, 5});
  auto const m = panels<double>::from_csr(a.view(), {.width = 2, .height = 2, .lanes = 2});
  EXPECT_EQ(m.group_ptr, (ints{0, 2, 3}));
  EXPECT_EQ(m.group_tile, (ints{0, 3, 6}));
  EXPECT_EQ(m.tile_panel, (ints{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(m.tile_ptr, (ints{0, 4, 8, 10, 12, 14, 15}));
  EXPECT_EQ(m.to_csr(), a);
}

TEST(panels, an_empty_tile_is_not_stored) {
  csr<double> const a(2, 6, {0, 1, 2}, {0, 5}, {1, 2});
  auto const m = panels<double>::from_csr(a.view(), {.width = 2});
  EXPECT_EQ(m.tile_panel, (ints{0, 2}));
  EXPECT_EQ(m.to_csr(), a);
}

// Columns 4 and 1 have three and two entries, 0 and 3 one, 2 and 5 none: by twos, 1 and 4 and then
// 0 and 3, ascending in each panel.
TEST(panels, columns_go_by_their_entries) {
  csr<double> const a(3, 6, {0, 2, 4, 7}, {1, 4, 0, 4, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7});
  auto const m = panels<double>::from_csr(a.view(), {.width = 2, .lanes = 1, .hot = 0});
  EXPECT_EQ(m.order, (ints{1, 4, 0, 3}));
  EXPECT_EQ(m.tile_panel, (ints{0, 1}));
  EXPECT_EQ(m.tile_ptr, (ints{0, 5, 7}));
  EXPECT_NO_THROW(m.validate());
  EXPECT_EQ(m.to_csr(), a);
}

// A few columns that every row has, and others at random: those few go first, unless told not to.
TEST(panels, hot_columns_are_found) {
  std::size_t const rows = 20000;
  csr<double> a(unchecked, 20000, 1 << 20, ints(rows + 1), ints(4 * rows), doubles(4 * rows, 1.0));
  for (std::size_t i = 0; i < rows; ++i) {
    auto const hot = static_cast<std::int32_t>(i % 5);
    a.row_ptr[i] = static_cast<std::int32_t>(4 * i);
    a.col[4 * i] = 10 + hot;
    a.col[4 * i + 1] = 15000 + hot;
    a.col[4 * i + 2] = 16000 + hot;
    a.col[4 * i + 3] = static_cast<std::int32_t>(16005 + i * 37 % 3995);
  }
  a.row_ptr[rows] = static_cast<std::int32_t>(4 * rows);
  auto const m = panels<double>::from_csr(a.view());
  ASSERT_EQ(m.order.size(), 15u + 3995u);
  EXPECT_EQ(m.order[0], 10);
  EXPECT_EQ(m.to_csr(), a);
  EXPECT_TRUE(panels<double>::from_csr(a.view(), {.hot = 1}).order.empty());
}

TEST(panels, groups_end_at_their_share_of_the_entries) {
  std::vector<std::int32_t> lengths(40000, 1);
  for (std::size_t i = 0; i < 100; ++i)
    lengths[i] = 2000;
  auto const m = panels<double>::from_csr(borrowed(staircase(2000, lengths)));
  ASSERT_GT(m.group_ptr.size(), 2u);
  EXPECT_EQ(m.group_ptr[1], 4096); // heavy rows are not fewer than that
  for (std::size_t g = 1; g < m.group_ptr.size(); ++g)
    EXPECT_LE(m.group_ptr[g] - m.group_ptr[g - 1], 32768);
}

TEST(panels, options_that_are_not_there_are_refused) {
  csr<double> const a = staircase(4, {1, 2});
  auto const refused = [&](panels_options const& o, words const& w) {
    EXPECT_TRUE(fails_with(errc::unsupported, w, [&] { panels<double>::from_csr(a.view(), o); }));
  };
  refused({.width = -1}, {"width", "-1"});
  refused({.width = 3}, {"width", "3", "power of two"});
  refused({.width = 131072}, {"width", "131072", "65536"});
  refused({.height = 0}, {"height", "0"});
  refused({.height = 65537}, {"height", "65537"});
  refused({.lanes = 0}, {"lanes", "0", "64"});
  refused({.lanes = 65}, {"lanes", "65"});
  refused({.piece = 0}, {"piece", "0"});
  refused({.hot = -1}, {"hot", "-1"});
  refused({.limit = 0}, {"limit", "0"});
  refused({.hot = std::numeric_limits<double>::quiet_NaN()}, {"hot"});
}

// Three rows of each pattern: the first is compared for the others, eight side by side.
TEST(panels, refill_sees_an_entry_that_moved_in_any_of_alike_rows) {
  csr<double> a(unchecked, 12, 30, ints(13), ints(72), doubles(72, 1.0));
  a.row_ptr[0] = 0;
  for (std::size_t k = 0; k < 72; ++k) {
    a.row_ptr[k / 6 + 1] = static_cast<std::int32_t>(k + 1);
    a.col[k] = static_cast<std::int32_t>(k / 18 + k % 6 * 4);
  }
  ASSERT_TRUE(detail::come_in_groups(a.row_ptr.data(), a.col.data(), 12));
  auto m = panels<double>::from_csr(a.view());
  ASSERT_EQ(m.run_len[0], 6);
  auto const before = m;
  for (std::size_t k = 0; k < 72; ++k) {
    csr<double> other = a;
    ++other.col[k];
    EXPECT_TRUE(fails_with(errc::bad_structure, {"panels", "refill"}, [&] {
      m.refill(other.view());
    })) << k;
    EXPECT_EQ(m, before) << k;
  }
  for (std::size_t k = 0; k < 72; ++k)
    a.val[k] = static_cast<double>(k);
  m.refill(a.view());
  EXPECT_EQ(m, panels<double>::from_csr(a.view()));
}

TEST(panels, refill_refuses_another_pattern_in_every_layout) {
  csr<double> const a = staircase(8, {4, 0, 3, 1});
  csr<double> moved = a;
  moved.col[3] = 6;
  csr<double> const other(4, 8, {0, 3, 4, 7, 8}, {0, 1, 2, 3, 0, 1, 2, 0},
                          {1, 2, 3, 4, 5, 6, 7, 8});
  for (double const hot : {0., 1.})
    for (int const lanes : {1, 2, 8}) {
      auto m = panels<double>::from_csr(a.view(), {.width = 2, .lanes = lanes, .hot = hot});
      auto const before = m;
      for (csr<double> const& b : {moved, other}) {
        EXPECT_TRUE(
            fails_with(errc::bad_structure, {"panels", "refill"}, [&] { m.refill(b.view()); }));
        EXPECT_EQ(m, before);
      }
      m.refill(a.view());
      EXPECT_EQ(m, before);
    }
}

/// One that has everything: two groups, three panels by order, rows side by side, a piece, singles.
panels<double> sound() {
  csr<double> const a(4, 6, {0, 5, 8, 9, 12}, {0, 1, 2, 3, 4, 1, 2, 4, 3, 0, 1, 4},
                      {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  return panels<double>::from_csr(a.view(),
                                  {.width = 2, .height = 2, .lanes = 2, .piece = 2, .hot = 0});
}

TEST(panels, broken_arrays_are_refused) {
  ASSERT_NO_THROW(sound().validate());
  ASSERT_FALSE(sound().order.empty());
  auto const refused = [](char const* what, words const& w, std::function<void(panels<double>&)> f,
                          errc code = errc::bad_structure) {
    panels<double> m = sound();
    f(m);
    EXPECT_TRUE(fails_with(code, w, [&] { m.validate(); })) << what;
  };
  std::int32_t const most = std::numeric_limits<std::int32_t>::max();
  refused("rows negative", {"-1"}, [](auto& m) { m.rows = -1; });
  refused("a row more", {"group_ptr", "4", "5"}, [](auto& m) { m.rows = 5; });
  refused("lanes", {"0 lanes"}, [](auto& m) { m.lanes = 0; });
  refused("more lanes", {"65 lanes"}, [](auto& m) { m.lanes = 65; });
  refused("width", {"width 3"}, [](auto& m) { m.width = 3; });
  refused("width far away", {"width 131072"}, [](auto& m) { m.width = 131072; });
  refused("no width", {"width 0"}, [](auto& m) { m.width = 0; });
  refused("a group ends before it begins", {"group_ptr", "decreases"},
          [](auto& m) { m.group_ptr[1] = 5; });
  refused("a group below", {"group_ptr"}, [](auto& m) { m.group_ptr[1] = -2; });
  refused("tiles of a group", {"group_tile", "decreases"},
          [&](auto& m) { m.group_tile[1] = most; });
  refused("tiles missing", {"group_tile", "elements"}, [](auto& m) { m.group_tile = {0}; });
  refused("order far away", {"order[0]", "2147483647"}, [&](auto& m) { m.order[0] = most; });
  refused("order below", {"order[1]", "-1"}, [](auto& m) { m.order[1] = -1; });
  refused("a column twice", {"order", "twice"}, [](auto& m) { m.order[1] = m.order[0]; });
  refused("order in a panel", {"order[1]", "one panel"},
          [](auto& m) { std::swap(m.order[0], m.order[1]); });
  refused("panel far away", {"tile_panel[0]"}, [&](auto& m) { m.tile_panel[0] = most; });
  refused("panel below", {"tile_panel[0]", "-1"}, [](auto& m) { m.tile_panel[0] = -1; });
  refused("a panel twice", {"tile_panel[1]"}, [](auto& m) { m.tile_panel[1] = m.tile_panel[0]; });
  refused("tile_ptr", {"tile_ptr"}, [&](auto& m) { m.tile_ptr[1] = most; });
  refused("an entry to the next tile", {"tile 0"}, [](auto& m) { --m.tile_ptr[1]; });
  refused("an entry from it", {"tile 0"}, [](auto& m) { ++m.tile_ptr[1]; });
  refused("slot_ptr", {"slot_ptr"}, [](auto& m) { m.slot_ptr[1] = -1; });
  refused("a slot to the next tile", {"tile 0"}, [](auto& m) { --m.slot_ptr[1]; });
  refused("run_ptr", {"run_ptr"}, [](auto& m) { m.run_ptr[0] = 1; });
  refused("a run to the next tile", {"tile 0"}, [](auto& m) { --m.run_ptr[1]; });
  refused("a run of nothing", {"run_len", "0"}, [](auto& m) { m.run_len[0] = 0; });
  refused("a run too long", {"tile 0", "run_count"}, [](auto& m) { m.run_len[0] = 65536; });
  refused("a run longer than any", {"run_len", "2147483647"},
          [&](auto& m) { m.run_len[0] = most; });
  refused("a run below all", {"run_len", "-2147483648"},
          [](auto& m) { m.run_len[0] = std::numeric_limits<std::int32_t>::min(); });
  refused("runs without end", {"run_count", "2147483647"}, [&](auto& m) { m.run_count[0] = most; });
  refused("runs below", {"run_count", "-1"}, [](auto& m) { m.run_count[0] = -1; });
  refused("counts missing", {"run_count", "elements"}, [](auto& m) { m.run_count = {1}; });
  refused("a row outside", {"row", "65535"}, [](auto& m) { m.row[0] = 65535; });
  refused("a column outside", {"col", "65535"}, [](auto& m) { m.col[0] = 65535; });
  refused("columns missing", {"col", "elements"}, [](auto& m) { m.col = {0}; });
  refused("one row twice", {"ascend"}, [](auto& m) {
    m.row[1] = m.row[0]; // it has that column already
    m.col[1] = m.col[0];
  });
}

// Every 16-bit, 32-bit and pointer word of it, one at a time: an error or a matrix, never a crash.
TEST(panels, any_word_is_refused_or_makes_a_matrix) {
  auto const tried = [](auto member) {
    for (std::size_t k = 0; k < (sound().*member).size(); ++k)
      for (long const value : {-2L, -1L, 0L, 1L, 2L, 3L, 7L, 65535L, 65536L, 2147483647L}) {
        panels<double> m = sound();
        using T = std::remove_cvref_t<decltype((m.*member)[k])>;
        (m.*member)[k] = static_cast<T>(value);
        try {
          m.validate();
        } catch (error const& e) {
          EXPECT_EQ(e.code(), errc::bad_structure) << e.what();
          continue;
        }
        csr<double> const c = m.to_csr();
        EXPECT_NO_THROW(c.validate());
        EXPECT_TRUE(c.view().is_canonical());
        EXPECT_EQ(c.val.size(), m.val.size());
      }
  };
  tried(&panels<double>::group_ptr);
  tried(&panels<double>::group_tile);
  tried(&panels<double>::order);
  tried(&panels<double>::tile_panel);
  tried(&panels<double>::tile_ptr);
  tried(&panels<double>::slot_ptr);
  tried(&panels<double>::run_ptr);
  tried(&panels<double>::run_len);
  tried(&panels<double>::run_count);
  tried(&panels<double>::row);
  tried(&panels<double>::col);
}

// The caller's own arrays: a group of no rows, a run of no rows, lanes of three.
TEST(panels, a_view_takes_arrays_that_from_csr_would_not_make) {
  ints const group_ptr = {0, 0, 3};
  ints const group_tile = {0, 0, 1};
  ints const tile_panel = {1};
  ints const tile_ptr = {0, 3};
  ints const slot_ptr = {0, 3};
  ints const run_ptr = {0, 2};
  ints const run_len = {-4, 1};
  ints const run_count = {0, 1};
  shorts const row = {2, 0, 1};
  shorts const col = {0, 1, 1};
  doubles const val = {5, 6, 7};
  panels_view<double> const v(3, 4, 2, 3,
                              {group_ptr,
                               group_tile,
                               {},
                               tile_panel,
                               tile_ptr,
                               slot_ptr,
                               run_ptr,
                               run_len,
                               run_count,
                               row,
                               col,
                               val});
  EXPECT_EQ(v.nnz, 3);
  EXPECT_EQ(v.to_csr(), (csr<double>(3, 4, {0, 1, 2, 3}, {3, 3, 2}, {6, 7, 5})));
  EXPECT_NO_THROW((panels_view<double>(0, 7, 2, 8, {})));
}

} // namespace
} // namespace tulle::test::panels_test
