// SPDX-License-Identifier: Apache-2.0

// The 4 x 4 picture at the head of each format header, array by array.
//
//     1 . 2 .
//     . 3 . .
//     . . . 4
//     5 6 7 .
#include "tulle/core/registry.hpp"

#include "support/expect.hpp"

#include <gtest/gtest.h>

namespace tulle::test {
namespace {

using ints = array<std::int32_t>;
using doubles = array<double>;

csr<double> example() {
  return {4, 4, {0, 2, 3, 4, 7}, {0, 2, 1, 3, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7}};
}

TEST(picture, csr) {
  auto const a = csr<double>::from_csr(example().view());
  EXPECT_EQ(a.row_ptr, (ints{0, 2, 3, 4, 7}));
  EXPECT_EQ(a.col, (ints{0, 2, 1, 3, 0, 1, 2}));
  EXPECT_EQ(a.val, (doubles{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(a.bytes(), 12u * 7 + 4 * 5);
}

TEST(picture, csc) {
  auto const a = csc<double>::from_csr(example().view());
  EXPECT_EQ(a.col_ptr, (ints{0, 2, 4, 6, 7}));
  EXPECT_EQ(a.row, (ints{0, 3, 1, 3, 0, 3, 2}));
  EXPECT_EQ(a.val, (doubles{1, 5, 3, 6, 2, 7, 4}));
  EXPECT_EQ(a.bytes(), 12u * 7 + 4 * 5);
}

TEST(picture, coo) {
  auto const a = coo<double>::from_csr(example().view());
  EXPECT_EQ(a.row, (ints{0, 0, 1, 2, 3, 3, 3}));
  EXPECT_EQ(a.col, (ints{0, 2, 1, 3, 0, 1, 2}));
  EXPECT_EQ(a.val, (doubles{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(a.bytes(), 16u * 7);
}

// Any order in, canonical out: triplets as a file might have them.
TEST(coo, triplets_in_any_order_become_sorted_rows) {
  coo<double> const a(3, 3, {2, 0, 2, 0, 2}, {1, 2, 0, 0, 1}, {1, 2, 3, 4, 0.5});
  csr<double> const c = a.to_csr();
  EXPECT_EQ(c.row_ptr, (ints{0, 2, 2, 4}));
  EXPECT_EQ(c.col, (ints{0, 2, 0, 1}));
  EXPECT_EQ(c.val, (doubles{4, 2, 3, 1.5}));
}

// Duplicates add up in the order they are stored: (1e16 + 1) - 1e16 is 0, another order gives 1.
TEST(coo, duplicates_are_summed_in_the_order_stored) {
  coo<double> const a(1, 2, {0, 0, 0, 0}, {1, 1, 0, 1}, {1e16, 1, 7, -1e16});
  csr<double> const c = a.to_csr();
  EXPECT_EQ(c.val, (doubles{7, 0}));
  coo<double> const b(1, 2, {0, 0, 0, 0}, {1, 1, 0, 1}, {1e16, -1e16, 7, 1});
  EXPECT_EQ(b.to_csr().val, (doubles{7, 1}));
  csr<double> const d(1, 2, {0, 4}, {1, 1, 0, 1}, {1e16, 1, 7, -1e16});
  EXPECT_EQ(d.to_csr().val, (doubles{7, 0}));
}

TEST(csc, columns_in_any_order_become_sorted_rows) {
  csc<double> const a(3, 2, {0, 3, 5}, {2, 0, 2, 1, 0}, {1, 2, 3, 4, 5});
  csr<double> const c = a.to_csr();
  EXPECT_EQ(c.row_ptr, (ints{0, 2, 3, 4}));
  EXPECT_EQ(c.col, (ints{0, 1, 1, 0}));
  EXPECT_EQ(c.val, (doubles{2, 5, 4, 4}));
}

TEST(picture, is_checked_for_every_format) {
  EXPECT_EQ(format_count, 3u) << "a new format wants its picture here";
}

} // namespace
} // namespace tulle::test
