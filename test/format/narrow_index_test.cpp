// SPDX-License-Identifier: Apache-2.0

// Conversions with 8-bit indices: what needs gigabytes to see with 32 bits shows here with 127
// entries.
#include "tulle/format/formats.hpp"

#include "support/expect.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::narrow_index_test {
namespace {

using tiny = std::int8_t;
using tiny_csr = csr<double, tiny, tiny>;

// 127 entries, the most that an offset counts, the last rows empty.
tiny_csr full(tiny rows, tiny cols, bool sorted) {
  array<tiny> ptr(static_cast<std::size_t>(rows) + 1);
  array<tiny> col(127);
  array<double> val(127);
  for (std::size_t i = 0; i < ptr.size(); ++i)
    ptr[i] = static_cast<tiny>(std::min<std::size_t>(127, i * 50));
  for (std::size_t k = 0; k < 127; ++k) {
    std::size_t const in_row = k % 50;
    col[k] = static_cast<tiny>(sorted ? in_row : 49 - in_row);
    val[k] = static_cast<double>(k) + 0.5;
  }
  return {rows, cols, std::move(ptr), std::move(col), std::move(val)};
}

template <class F>
void round_trips() {
  for (tiny const rows : {3, 5, 126, 127})
    for (tiny const cols : {50, 127})
      for (bool const sorted : {true, false}) {
        tiny_csr const a = full(rows, cols, sorted);
        F m = F::from_csr(a.view());
        m.validate();
        tiny_csr const expected = a.to_csr();
        EXPECT_TRUE(same_arrays(borrowed(m.to_csr()), expected.view()));
        m.refill(a.view());
        EXPECT_TRUE(same_arrays(borrowed(m.to_csr()), expected.view()));
        double sum = 0;
        for (double const v : expected.val)
          sum += v;
        EXPECT_EQ(sum, 127 * 126 / 2 + 127 * 0.5);
        EXPECT_TRUE(expected.view().is_canonical());
      }
}

TEST(eight_bit_indices, round_trip_at_the_very_limit) {
  round_trips<tiny_csr>();
  round_trips<csc<double, tiny, tiny>>();
  round_trips<coo<double, tiny, tiny>>();
}

TEST(eight_bit_indices, unsorted_rows_at_the_limit_are_seen_as_such) {
  EXPECT_FALSE(borrowed(full(5, 50, false)).is_canonical());
  EXPECT_TRUE(borrowed(full(5, 50, true)).is_canonical());
}

// 128 entries have no offset of 8 bits: refused at every door, never wrapped around.
TEST(eight_bit_indices, more_entries_than_an_offset_counts_overflow) {
  array<tiny> const index(128, tiny(0));
  array<double> const val(128, 1.0);
  array<tiny> ptr(3, tiny(0));
  ptr[2] = 127;
  using coo_type = coo<double, tiny, tiny>;
  using csc_type = csc<double, tiny, tiny>;
  std::vector<std::string> const words = {"128", "8-bit"};
  EXPECT_TRUE(fails_with(errc::overflow, words, [&] { coo_type(2, 2, index, index, val); }));
  EXPECT_TRUE(fails_with(errc::overflow, words, [&] { tiny_csr(2, 2, ptr, index, val); }));
  EXPECT_TRUE(fails_with(errc::overflow, words, [&] { csc_type(2, 2, ptr, index, val); }));
  using spans = coo_view<double, tiny, tiny>;
  EXPECT_TRUE(fails_with(errc::overflow, words, [&] { spans(2, 2, index, index, val); }));
  EXPECT_TRUE(fails_with(errc::overflow, words,
                         [&] { coo_type(unchecked, 2, 2, index, index, val).validate(); }));
}

TEST(eight_bit_indices, a_wider_offset_counts_them) {
  array<tiny> row(200), col(200);
  array<double> val(200, 1.0);
  for (std::size_t k = 0; k < 200; ++k) {
    row[k] = static_cast<tiny>(k % 100);
    col[k] = static_cast<tiny>(k / 100);
  }
  coo<double, tiny, std::int16_t> const a(127, 127, row, col, val);
  auto const c = a.to_csr();
  EXPECT_EQ(c.row_ptr[100], 200);
  EXPECT_EQ(c.row_ptr[127], 200);
  auto const back = csc<double, tiny, std::int16_t>::from_csr(c.view());
  EXPECT_EQ(back.col_ptr[1], 100);
  EXPECT_TRUE(same_arrays(borrowed(back.to_csr()), c.view()));
}

} // namespace
} // namespace tulle::test::narrow_index_test
