// SPDX-License-Identifier: Apache-2.0

// BCSR: the worked example of Liu's thesis, shapes chosen by fill, arrays that are not what they
// claim to be, options and the limit.
#include "tulle/format/bcsr.hpp"

#include "format/detail/blocks.hpp"
#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::bcsr_test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;
using words = array<std::uint64_t>;

bcsr_options shape(int rows, int cols) {
  bcsr_options o;
  o.rows = rows;
  o.cols = cols;
  return o;
}

// Every place (i, j) with keep(i, j), value 1 + i + j / 100.
template <class F>
csr<double> where_kept(std::int32_t rows, std::int32_t cols, F&& keep) {
  std::vector<std::int32_t> ptr = {0}, col;
  std::vector<double> val;
  for (std::int32_t i = 0; i < rows; ++i) {
    for (std::int32_t j = 0; j < cols; ++j)
      if (keep(i, j)) {
        col.push_back(j);
        val.push_back(1 + i + j / 100.);
      }
    ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  return {rows, cols, ints(ptr.data(), ptr.size()), ints(col.data(), col.size()),
          doubles(val.data(), val.size())};
}

// Liu, thesis 2015, figure 5.13, blocks of 2 x 2.
TEST(bcsr, is_what_the_thesis_draws) {
  csr<double> const a(6, 6, {0, 2, 4, 8, 10, 12, 14}, {0, 1, 0, 2, 0, 1, 4, 5, 2, 3, 2, 3, 4, 5},
                      {1, 2, 1, 2, 1, 2, 3, 4, 1, 2, 1, 2, 1, 2});
  auto const b = bcsr<double>::from_csr(a.view(), shape(2, 2));
  EXPECT_EQ(b.block_ptr, (ints{0, 2, 5, 7}));
  EXPECT_EQ(b.block_col, (ints{0, 1, 0, 1, 2, 1, 2}));
  EXPECT_EQ(b.val, (doubles{1, 2, 1, 0, 0, 0, 2, 0, 1, 2, 0, 0, 0, 0,
                            1, 2, 3, 4, 0, 0, 1, 2, 0, 0, 0, 0, 1, 2}));
  // 1110 0010 1100 0011 1100 1100 0011, the lowest bit first.
  EXPECT_EQ(b.pattern, (words{0xC33C347}));
  EXPECT_EQ(b.nnz, 14);
  EXPECT_EQ(b.to_csr(), a);
}

TEST(bcsr, without_holes_has_no_pattern) {
  csr<double> const a = where_kept(6, 9, [](int i, int j) { return (i / 3 + j / 3) % 2 == 0; });
  auto const b = bcsr<double>::from_csr(a.view(), shape(3, 3));
  EXPECT_EQ(b.block_ptr, (ints{0, 2, 3}));
  EXPECT_EQ(b.block_col, (ints{0, 2, 1}));
  EXPECT_TRUE(b.pattern.empty());
  EXPECT_EQ(b.nnz, 27);
  EXPECT_EQ(b.to_csr(), a);
}

// An entry that is 0 is an entry: its bit is set, and it comes back.
TEST(bcsr, a_stored_zero_is_not_a_hole) {
  csr<double> const a(2, 2, {0, 1, 2}, {0, 1}, {0, 5});
  auto const b = bcsr<double>::from_csr(a.view(), shape(2, 2));
  EXPECT_EQ(b.val, (doubles{0, 0, 0, 5}));
  EXPECT_EQ(b.pattern, (words{9}));
  EXPECT_EQ(b.to_csr(), a);
}

// Blocks that stand over the last row and column, of every shape.
TEST(bcsr, round_trips_in_every_shape) {
  csr<double> const a = where_kept(19, 23, [](int i, int j) { return (i * 7 + j * 3) % 5 < 2; });
  for (int h = 1; h <= 8; ++h)
    for (int w = 1; w <= 8; ++w) {
      auto b = bcsr<double>::from_csr(a.view(), shape(h, w));
      EXPECT_EQ(b.height, h);
      EXPECT_EQ(b.width, w);
      EXPECT_NO_THROW(b.validate()) << h << " x " << w;
      EXPECT_EQ(b.to_csr(), a) << h << " x " << w;
      csr<double> const fresh = other_values(a);
      b.refill(fresh.view());
      EXPECT_EQ(b, bcsr<double>::from_csr(fresh.view(), shape(h, w))) << h << " x " << w;
    }
}

TEST(bcsr, chooses_the_shape_that_fills) {
  for (int const n : {2, 3, 4, 6, 8}) {
    csr<double> const a = where_kept(48 * n, 48 * n, [n](int i, int j) {
      return (i / n * 5 + j / n * 3) % 11 == 0 && (i / n) % 5 != (j / n) % 2;
    });
    auto const b = bcsr<double>::from_csr(a.view());
    EXPECT_EQ(b.height, n);
    EXPECT_EQ(b.width, n);
  }
  csr<double> const flat = where_kept(
      240, 240, [](int i, int j) { return (i * 7 + j / 4 * 3) % 13 == 0 && (i + j / 4) % 3; });
  EXPECT_EQ(bcsr<double>::from_csr(flat.view()).height, 1);
  EXPECT_EQ(bcsr<double>::from_csr(flat.view()).width, 4);
}

TEST(bcsr, is_csr_where_nothing_lies_together) {
  csr<double> const a =
      where_kept(300, 300, [](int i, int j) { return (i * 17 + j * 3) % 31 == 0; });
  auto const b = bcsr<double>::from_csr(a.view());
  EXPECT_EQ(b.height, 1);
  EXPECT_EQ(b.width, 1);
  EXPECT_EQ(b.block_ptr, a.row_ptr);
  EXPECT_EQ(b.block_col, a.col);
  EXPECT_EQ(b.val, a.val);
  EXPECT_TRUE(b.pattern.empty());
}

// Dense blocks wherever the sample looks, one entry a row elsewhere: 8 x 8 would pass the limit.
TEST(bcsr, is_csr_where_the_sample_misleads) {
  std::int32_t const n = 32000;
  std::vector<std::int32_t> ptr = {0}, col;
  for (std::int32_t i = 0; i < n; ++i) {
    bool const looked_at = i % (n / 4) < 64 || i % (n / 4) >= n / 4 - 64;
    for (std::int32_t j = 0; j < (looked_at ? 64 : 1); ++j)
      col.push_back(looked_at ? j : static_cast<std::int32_t>(i * std::int64_t(8009) % n));
    ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  csr<double> const a(n, n, ints(ptr.data(), ptr.size()), ints(col.data(), col.size()),
                      doubles(col.size(), 1.));
  detail::block_shape const sampled = detail::choose_block_shape(a.view(), 0, 0);
  ASSERT_EQ(sampled.height, 8);
  ASSERT_EQ(sampled.width, 8);
  auto const b = bcsr<double>::from_csr(a.view());
  EXPECT_EQ(b.height, 1);
  EXPECT_EQ(b.width, 1);
  EXPECT_EQ(b.to_csr(), a);
}

TEST(bcsr, keeps_the_side_that_is_given) {
  csr<double> const a = where_kept(96, 96, [](int i, int j) { return (i / 4 + j / 4) % 3 == 0; });
  auto const b = bcsr<double>::from_csr(a.view(), shape(2, 0));
  EXPECT_EQ(b.height, 2);
  EXPECT_EQ(b.width, 4);
  auto const c = bcsr<double>::from_csr(a.view(), shape(0, 1));
  EXPECT_EQ(c.height, 4);
  EXPECT_EQ(c.width, 1);
}

TEST(bcsr, refuses_sides_that_no_block_has) {
  csr<double> const a(1, 1, {0, 1}, {0}, {1});
  for (int const bad : {-1, 9, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    EXPECT_TRUE(fails_with(errc::unsupported, {"bcsr", "rows", std::to_string(bad), "1 to 8"},
                           [&] { bcsr<double>::from_csr(a.view(), shape(bad, 1)); }));
    EXPECT_TRUE(fails_with(errc::unsupported, {"bcsr", "cols", std::to_string(bad), "1 to 8"},
                           [&] { bcsr<double>::from_csr(a.view(), shape(1, bad)); }));
  }
}

// One entry a block of 64 slots: 512 bytes and more where csr has 16.
TEST(bcsr, refuses_more_than_the_limit_and_leaks_nothing) {
  std::int32_t const n = 64000;
  csr<double> a(unchecked, n, n, ints(n + 1), ints(n), doubles(n, 1.));
  for (std::int32_t i = 0; i < n; ++i) {
    a.row_ptr[static_cast<std::size_t>(i)] = i;
    a.col[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>((static_cast<std::int64_t>(i) * 8009 + 1) % n);
  }
  a.row_ptr[n] = n;
  failing_memory memory;
  cpu const where{.threads = 2, .memory = &memory};
  EXPECT_TRUE(fails_with(errc::unsupported, {"bcsr", "option limit is 8"},
                         [&] { bcsr<double>::from_csr(a.view(), shape(8, 8), where); }));
  EXPECT_EQ(memory.outstanding(), 0u);
  bcsr_options more = shape(8, 8);
  more.limit = 64;
  EXPECT_EQ(bcsr<double>::from_csr(a.view(), more, where).to_csr(), a);
}

// 2 x 2 blocks over 3 x 5: two block rows, three block columns.
struct broken {
  char const* what;
  std::int32_t rows, cols;
  int height, width;
  ints ptr, col;
  doubles val;
  words pattern;
  std::vector<std::string> expected;
};

TEST(bcsr, refuses_hostile_arrays) {
  std::int32_t const most = std::numeric_limits<std::int32_t>::max();
  doubles const eight = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<broken> const cases = {
      {"no height", 3, 5, 0, 2, {0, 1, 2}, {0, 1}, eight, {}, {"0 x 2", "1 to 8"}},
      {"too wide", 3, 5, 2, 9, {0, 1, 2}, {0, 1}, eight, {}, {"2 x 9"}},
      {"a side below", 3, 5, -2, 2, {0, 1, 2}, {0, 1}, eight, {}, {"-2 x 2"}},
      {"rows negative", -3, 5, 2, 2, {}, {}, {}, {}, {"-3", "5"}},
      {"a pointer missing", 4, 5, 2, 2, {0, 2}, {0, 1}, eight, {}, {"2 pointers", "2 block rows"}},
      {"no pointers", 4, 5, 2, 2, {}, {}, {}, {}, {"0 pointers", "2 block rows"}},
      {"pointers decrease", 4, 5, 2, 2, {0, 3, 2}, {0, 1}, eight, {}, {"block_ptr", "from 3 to 2"}},
      {"first not 0", 4, 5, 2, 2, {1, 1, 2}, {0, 1}, eight, {}, {"block_ptr[0] is 1"}},
      {"they end late", 4, 5, 2, 2, {0, 1, most}, {0, 1}, eight, {}, {"2147483647", "2 entries"}},
      {"column negative", 4, 5, 2, 2, {0, 1, 2}, {0, -1}, eight, {}, {"block_col[1] is -1", "3)"}},
      {"column too large", 4, 5, 2, 2, {0, 1, 2}, {0, 3}, eight, {}, {"block_col[1] is 3", "3)"}},
      {"column far away", 4, 5, 2, 2, {0, 1, 2}, {most, 0}, eight, {}, {"block_col[0]", "3)"}},
      {"not ascending", 2, 5, 2, 2, {0, 2}, {1, 0}, eight, {}, {"block_col[1] is 0 after 1"}},
      {"one twice", 2, 5, 2, 2, {0, 2}, {1, 1}, eight, {}, {"block_col[1] is 1 after 1"}},
      {"a value missing", 4, 5, 2, 2, {0, 1, 2}, {0, 1}, {1, 2, 3}, {}, {"3 values", "2 blocks"}},
      {"a word too many", 4, 5, 2, 2, {0, 1, 2}, {0, 1}, eight, {255, 0}, {"2 words", "8 slots"}},
      {"bits beyond", 4, 5, 2, 2, {0, 1, 2}, {0, 1}, eight, {0x1ff}, {"beyond", "8 slots"}},
      {"a hole with a value", 4, 5, 2, 2, {0, 1, 2}, {0, 1}, eight, {0xdf}, {"val[5]", "hole"}},
      {"a row outside", 3, 5, 2, 2, {0, 1, 2}, {0, 1}, eight, {}, {"block 1", "slot 2", "3 x 5"}},
      {"a column outside",
       4,
       5,
       2,
       2,
       {0, 1, 2},
       {2, 1},
       eight,
       {},
       {"block 0", "slot 1", "4 x 5"}},
      {"blocks without rows", 0, 5, 2, 2, {}, {0}, {1, 2, 3, 4}, {}, {"block_ptr"}},
      {"blocks without columns", 2, 0, 2, 2, {0, 1}, {0}, {1, 2, 3, 4}, {}, {"[0, 0)"}},
  };
  for (broken const& b : cases) {
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] {
      bcsr_view<double>(b.rows, b.cols, b.height, b.width, b.ptr, b.col, b.val, b.pattern);
    })) << b.what;
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] {
      bcsr<double>(b.rows, b.cols, b.height, b.width, b.ptr, b.col, b.val, b.pattern);
    })) << b.what;
    bcsr<double> const unseen(unchecked, b.rows, b.cols, 8, b.height, b.width, b.ptr, b.col, b.val,
                              b.pattern);
    EXPECT_TRUE(fails_with(errc::bad_structure, b.expected, [&] { unseen.validate(); })) << b.what;
  }
}

TEST(bcsr, refuses_null_with_a_size_and_a_wrong_count) {
  std::vector<std::int32_t> const ptr = {0, 1}, col = {0};
  std::vector<double> const val = {1, 2, 3, 4};
  std::span<std::int32_t const> const no_ptr(static_cast<std::int32_t const*>(nullptr), 2);
  std::span<std::int32_t const> const no_col(static_cast<std::int32_t const*>(nullptr), 1);
  std::span<double const> const no_val(static_cast<double const*>(nullptr), 4);
  std::span<std::uint64_t const> const no_bits(static_cast<std::uint64_t const*>(nullptr), 1);
  auto const refused = [](std::vector<std::string> const& w, auto&& f) {
    EXPECT_TRUE(fails_with(errc::bad_structure, w, f));
  };
  refused({"block_ptr", "null"}, [&] { bcsr_view<double>(2, 2, 2, 2, no_ptr, col, val); });
  refused({"block_col", "null"}, [&] { bcsr_view<double>(2, 2, 2, 2, ptr, no_col, val); });
  refused({"val", "null"}, [&] { bcsr_view<double>(2, 2, 2, 2, ptr, col, no_val); });
  refused({"pattern", "null"}, [&] { bcsr_view<double>(2, 2, 2, 2, ptr, col, val, no_bits); });
  bcsr<double> b(2, 2, 2, 2, {0, 1}, {0}, {1, 2, 3, 4});
  EXPECT_EQ(b.nnz, 4);
  b.nnz = 3;
  refused({"4 entries", "3"}, [&] { b.validate(); });
  refused({"4 entries", "3"}, [&] { b.view().validate(); });
}

TEST(bcsr, takes_arrays_of_others) {
  bcsr<double> const b(3, 3, 2, 2, {0, 1, 2}, {0, 1}, {1, 2, 3, 4, 5, 0, 0, 0}, {0x1f});
  EXPECT_EQ(b.nnz, 5);
  EXPECT_EQ(b.to_csr(), csr<double>(3, 3, {0, 2, 4, 5}, {0, 1, 0, 1, 2}, {1, 2, 3, 4, 5}));
  // A block that stores nothing is a waste and no mistake.
  bcsr<double> empty(2, 4, 2, 2, {0, 2}, {0, 1}, {0, 0, 0, 0, 6, 0, 0, 0}, {0x10});
  EXPECT_EQ(empty.to_csr(), csr<double>(2, 4, {0, 1, 1}, {2}, {6}));
  empty.refill(borrowed(csr<double>(2, 4, {0, 1, 1}, {2}, {7})));
  EXPECT_EQ(empty.val, (doubles{0, 0, 0, 0, 7, 0, 0, 0}));
  EXPECT_NO_THROW(bcsr_view<double>(0, 0, 1, 1, ints{}, ints{}, doubles{}));
  EXPECT_NO_THROW(bcsr_view<double>(0, 7, 3, 2, ints{0}, ints{}, doubles{}));
  EXPECT_NO_THROW(bcsr_view<double>(4, 0, 3, 2, ints{0, 0, 0}, ints{}, doubles{}));
}

// A row with an entry less whose neighbour in the block row has one more.
TEST(bcsr, refill_counts_each_row) {
  csr<double> const a(2, 4, {0, 2, 4}, {0, 1, 0, 1}, {1, 2, 3, 4});
  for (csr<double> const& other : {csr<double>(2, 4, {0, 3, 4}, {0, 1, 2, 1}, {1, 2, 3, 4}),
                                   csr<double>(2, 4, {0, 1, 4}, {0, 0, 1, 2}, {1, 2, 3, 4}),
                                   csr<double>(2, 4, {0, 4, 4}, {0, 1, 2, 3}, {1, 2, 3, 4}),
                                   csr<double>(2, 4, {0, 0, 4}, {0, 1, 2, 3}, {1, 2, 3, 4})})
    for (bcsr_options const& o : {shape(2, 2), shape(1, 2), shape(2, 3), shape(1, 1)}) {
      auto b = bcsr<double>::from_csr(a.view(), o);
      auto const before = b;
      EXPECT_TRUE(
          fails_with(errc::bad_structure, {"bcsr", "refill"}, [&] { b.refill(other.view()); }));
      EXPECT_EQ(b, before);
    }
}

// 1 2 . 7
// 2 3 4 .
// . 4 5 6
// 7 . 6 0, the last 0 stored
csr<double> symmetric() {
  return {4,
          4,
          {0, 3, 6, 9, 12},
          {0, 1, 3, 0, 1, 2, 1, 2, 3, 0, 2, 3},
          {1, 2, 7, 2, 3, 4, 4, 5, 6, 7, 6, 0}};
}

bcsr_options one_triangle(int side) {
  bcsr_options o = shape(side, 0);
  o.symmetric = true;
  return o;
}

TEST(bcsr, symmetric_keeps_whole_blocks_on_the_diagonal_and_those_below) {
  auto const b = bcsr<double>::from_csr(borrowed(symmetric()), one_triangle(2));
  EXPECT_EQ(b.block_ptr, (ints{0, 1, 3}));
  EXPECT_EQ(b.block_col, (ints{0, 0, 1}));
  EXPECT_EQ(b.val, (doubles{1, 2, 2, 3, 0, 4, 7, 0, 5, 6, 6, 0}));
  EXPECT_EQ(b.pattern, (words{0xf6f}));
  EXPECT_EQ(b.nnz, 12);
  EXPECT_EQ(b.width, 2);
  EXPECT_EQ(b.to_csr(), symmetric());
  EXPECT_NO_THROW(b.validate());
  auto const one = bcsr<double>::from_csr(borrowed(symmetric()), one_triangle(1));
  EXPECT_EQ(one.val, (doubles{1, 2, 3, 4, 5, 7, 6, 0}));
  EXPECT_TRUE(one.pattern.empty());
  EXPECT_EQ(one.to_csr(), symmetric());
}

TEST(bcsr, symmetric_round_trips_in_every_square) {
  csr<double> a = where_kept(19, 19, [](int i, int j) { return (i + j) % 5 < 2 || i * j == 6; });
  for (std::size_t i = 0; i < 19; ++i)
    for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      a.val[static_cast<std::size_t>(k)] = static_cast<double>(i) + a.col[std::size_t(k)];
  for (int n = 1; n <= 8; ++n) {
    auto b = bcsr<double>::from_csr(a.view(), one_triangle(n));
    EXPECT_EQ(b.height, n);
    EXPECT_EQ(b.width, n);
    EXPECT_NO_THROW(b.validate()) << n;
    EXPECT_EQ(b.to_csr(), a) << n;
    csr<double> const fresh = other_values(a);
    b.refill(fresh.view());
    EXPECT_EQ(b, bcsr<double>::from_csr(fresh.view(), one_triangle(n))) << n;
  }
}

TEST(bcsr, symmetric_chooses_among_squares) {
  csr<double> const a = where_kept(96, 96, [](int i, int j) { return i / 6 == j / 6; });
  csr<double> b = a; // 6 x 3 would do as well
  for (double& v : b.val)
    v = 1;
  EXPECT_EQ(bcsr<double>::from_csr(b.view(), one_triangle(0)).height, 6);
  EXPECT_EQ(bcsr<double>::from_csr(b.view(), one_triangle(0)).width, 6);
  bcsr_options o = shape(2, 3);
  o.symmetric = true;
  EXPECT_TRUE(fails_with(errc::unsupported, {"bcsr", "2 x 3", "square"},
                         [&] { bcsr<double>::from_csr(b.view(), o); }));
}

TEST(bcsr, symmetric_refuses_the_first_entry_without_an_equal_twin) {
  csr<double> a = symmetric();
  a.val[10] = 8; // (3, 2)
  for (int const n : {0, 1, 2})
    EXPECT_TRUE(
        fails_with(errc::unsupported,
                   {"bcsr", "symmetric storage of a matrix whose (2, 3) is 6 and (3, 2) is 8"},
                   [&] { bcsr<double>::from_csr(a.view(), one_triangle(n)); }));
}

TEST(bcsr, symmetric_refills_with_symmetric_values_alone) {
  for (int const n : {1, 2, 3}) {
    auto const before = bcsr<double>::from_csr(borrowed(symmetric()), one_triangle(n));
    auto b = before;
    csr<double> a = symmetric();
    a.val[2] = 9; // (0, 3)
    EXPECT_TRUE(fails_with(errc::unsupported, {"bcsr", "(0, 3) is 9 and (3, 0) is 7"},
                           [&] { b.refill(a.view()); }));
    EXPECT_EQ(b, before);
    csr<double> moved = symmetric();
    moved.col[2] = 2; // as many entries, without twins
    EXPECT_TRUE(
        fails_with(errc::bad_structure, {"bcsr", "refill"}, [&] { b.refill(moved.view()); }));
    EXPECT_EQ(b, before);
    a.val[9] = 9;
    b.refill(a.view());
    EXPECT_EQ(b, bcsr<double>::from_csr(a.view(), one_triangle(n)));
  }
}

TEST(bcsr, what_is_not_symmetric_is_refused_by_every_constructor) {
  auto const refused = [](std::vector<std::string> const& what, std::int32_t cols, int width,
                          ints col, doubles val, words pattern) {
    EXPECT_TRUE(fails_with(errc::bad_structure, what, [&] {
      bcsr<double>(4, cols, 2, width, {0, 1, 2}, col, val, pattern, true);
    })) << what[0];
  };
  refused({"symmetric", "4 x 5"}, 5, 2, {0, 0}, {1, 2, 2, 3, 1, 2, 3, 4}, {});
  refused({"symmetric", "2 x 1"}, 4, 1, {0, 0}, {1, 2, 2, 3}, {});
  refused({"block_col[0] is 1", "above"}, 4, 2, {1, 0}, {1, 2, 2, 3, 1, 2, 3, 4}, {});
  refused({"block 1", "not symmetric"}, 4, 2, {0, 1}, {1, 2, 2, 3, 1, 2, 3, 4}, {});
  refused({"block 0", "not symmetric"}, 4, 2, {0, 1}, {1, 0, 0, 3, 1, 2, 2, 4}, {0xfd});
  bcsr<double> const good(4, 4, 2, 2, {0, 1, 2}, {0, 0}, {1, 2, 2, 3, 1, 2, 3, 4}, {}, true);
  EXPECT_EQ(good.nnz, 12);
}

} // namespace
} // namespace tulle::test::bcsr_test
