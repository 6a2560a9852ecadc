// SPDX-License-Identifier: Apache-2.0

// acsr: the matrix of the thesis, array by array; where bins end; arrays that are none.
#include "tulle/format/acsr.hpp"

#include "support/broken.hpp"
#include "support/liu.hpp"
#include "support/zoo.hpp"

namespace tulle::test::acsr_test {
namespace {

using ints = array<std::int32_t>;

TEST(acsr, liu_figure_5_16) {
  csr<double> const a = liu_a5();
  auto const b = acsr<double>::from_csr(a.view());
  EXPECT_EQ(b.row_ptr, (ints{0, 2, 4, 8, 10, 12, 14}));
  EXPECT_EQ(b.col, (ints{0, 1, 0, 2, 0, 1, 4, 5, 2, 3, 2, 3, 4, 5}));
  EXPECT_EQ(b.val, a.val);
  EXPECT_EQ(b.bin_ptr, (ints{0, 5, 6}));
  EXPECT_EQ(b.bin_row, (ints{0, 1, 3, 4, 5, 2}));
  EXPECT_EQ(b.to_csr(), a);
}

TEST(acsr, a_bin_has_the_rows_of_up_to_twice_as_many_entries) {
  csr<double> const a = from_lengths(40, {4, 3, 2, 1, 0, 5, 8, 9, 33, 16, 17, 32});
  auto const b = acsr<double>::from_csr(a.view());
  EXPECT_EQ(b.bin_ptr, (ints{0, 3, 5, 7, 9, 11, 12}));
  EXPECT_EQ(b.bin_row, (ints{2, 3, 4, 0, 1, 5, 6, 7, 9, 10, 11, 8}));
}

TEST(acsr, no_rows_have_no_bins) {
  auto const b = acsr<double>::from_csr(borrowed(csr<double>(0, 3, {0}, {}, {})));
  EXPECT_EQ(b.bin_ptr, (ints{0}));
  EXPECT_EQ(b.view().bins, 0);
}

struct arrays {
  csr<double> a = liu_a5();
  std::vector<std::int32_t> bin_ptr = {0, 5, 6}, bin_row = {0, 1, 3, 4, 5, 2};
  void view() const { acsr_view<double>(a.view(), bin_ptr, bin_row); }
};

TEST(acsr, broken_arrays_are_refused) {
  expect_refused<arrays>(
      {{"bins begin late", [](arrays& m) { m.bin_ptr[0] = 1; }, {"bin_ptr[0] is 1"}},
       {"bins decrease", [](arrays& m) { m.bin_ptr[1] = 7; }, {"bin_ptr", "from 7 to 6"}},
       {"bins end early", [](arrays& m) { m.bin_ptr.back() = 5; }, {"bin_ptr ends at 5"}},
       {"no bins", [](arrays& m) { m.bin_ptr.clear(); }, {"bin_ptr"}},
       {"too many bins", [](arrays& m) { m.bin_ptr.resize(65, 6); }, {"64 bins"}},
       {"a row less", [](arrays& m) { m.bin_row.pop_back(); }, {"bin_row has 5"}},
       {"row negative", [](arrays& m) { m.bin_row[0] = -1; }, {"bin_row[0] is -1"}},
       {"row at the limit", [](arrays& m) { m.bin_row[4] = 6; }, {"bin_row[4] is 6"}},
       {"a row twice", [](arrays& m) { m.bin_row[1] = 0; }, {"bin_row[1] is 0 after 0"}},
       {"a row in another bin",
        [](arrays& m) { std::swap(m.bin_row[1], m.bin_row[5]); },
        {"row 2 of 4 entries is in bin 0"}},
       {"the csr is broken", [](arrays& m) { m.a.col[3] = 6; }, {"col[3] is 6"}}});
}

} // namespace
} // namespace tulle::test::acsr_test
