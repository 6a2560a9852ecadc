// SPDX-License-Identifier: Apache-2.0

// csc: refill where columns and rows come in groups of one pattern.
#include "tulle/format/csc.hpp"

#include "format/detail/alike.hpp"
#include "support/expect.hpp"

#include <gtest/gtest.h>

namespace tulle::test::csc_test {
namespace {

/// Nodes in a ring, each with itself and the next but one, `height` rows and `width` columns each.
csr<double> ring(std::int32_t nodes, std::int32_t height, std::int32_t width) {
  std::vector<std::int32_t> row_ptr = {0};
  std::vector<std::int32_t> col;
  std::vector<double> val;
  for (std::int32_t i = 0; i < nodes * height; ++i) {
    std::int32_t const node = i / height;
    std::int32_t const other = (node + 2) % nodes;
    for (std::int32_t const n : {std::min(node, other), std::max(node, other)})
      for (std::int32_t k = 0; k < width; ++k) {
        col.push_back(n * width + k);
        val.push_back(static_cast<double>(col.size()));
      }
    row_ptr.push_back(static_cast<std::int32_t>(col.size()));
  }
  return csr<double>(nodes * height, nodes * width, {row_ptr.data(), row_ptr.size()},
                     {col.data(), col.size()}, {val.data(), val.size()});
}

TEST(csc, groups_are_seen) {
  for (std::int32_t const width : {1, 2, 3, 9}) {
    auto const m = csc<double>::from_csr(borrowed(ring(100, 2, width)));
    EXPECT_EQ(detail::come_in_groups(m.col_ptr.data(), m.row.data(), m.col_ptr.size() - 1),
              width > 1);
  }
}

TEST(csc, refill_takes_blocks_of_every_shape) {
  for (std::int32_t const height : {1, 2, 3, 9})
    for (std::int32_t const width : {2, 3, 4, 9})
      for (std::int32_t const nodes : {3, 7000}) { // one part, and more than one
        csr<double> a = ring(nodes, height, width);
        auto m = csc<double>::from_csr(a.view());
        for (double& v : a.val)
          v = -v;
        m.refill(a.view(), cpu{.threads = 3});
        EXPECT_EQ(m, csc<double>::from_csr(a.view())) << nodes << " " << height << " " << width;
      }
}

// Each entry that has room goes to the next column, or to the next row: in the first, second or
// last row and column of a block.
TEST(csc, refill_refuses_blocks_that_differ_in_any_entry) {
  csr<double> const a = ring(5, 3, 3);
  auto m = csc<double>::from_csr(a.view());
  ASSERT_TRUE(detail::come_in_groups(m.col_ptr.data(), m.row.data(), m.col_ptr.size() - 1));
  auto const before = m;
  auto const refused = [&](csr<double> const& other) {
    EXPECT_TRUE(
        fails_with(errc::bad_structure, {"csc", "refill"}, [&] { m.refill(other.view()); }));
    EXPECT_EQ(m, before);
  };
  for (std::size_t i = 0; i < 15; ++i)
    for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
      auto const at = static_cast<std::size_t>(k);
      if (a.col[at] + 1 < (k + 1 < a.row_ptr[i + 1] ? a.col[at + 1] : a.cols)) {
        csr<double> other = a;
        ++other.col[at];
        refused(other);
      }
      if (k + 1 == a.row_ptr[i + 1] && i + 1 < 15 && a.col[at] < a.col[at + 1]) {
        csr<double> other = a;
        --other.row_ptr[i + 1];
        refused(other);
      }
    }
  m.refill(a.view());
  EXPECT_EQ(m, before);
}

} // namespace
} // namespace tulle::test::csc_test
