// SPDX-License-Identifier: Apache-2.0

// C = alpha A B + beta C of matrices that have grown, against a map.
#include "tulle/op/spmm.hpp"

#include "dynamic/model.hpp"
#include "support/expect.hpp"

namespace tulle::test::dynamic_spmm_test {
namespace {

template <class T>
class dynamic_spmm : public testing::Test {};
TYPED_TEST_SUITE(dynamic_spmm, dynamic_types);

/// A B - C, column by column.
template <class V, class I>
std::vector<V> product(model<V, I> const& m, dense_view<V const> b, std::vector<V> c) {
  for (V& v : c)
    v = -v;
  for (auto const& [place, v] : m.at)
    for (std::size_t j = 0; j < b.cols; ++j)
      c[static_cast<std::size_t>(place.first) * b.cols + j] +=
          v * b(static_cast<std::size_t>(place.second), j);
  return c;
}

TYPED_TEST(dynamic_spmm, is_exact_on_fragments) {
  using V = typename TypeParam::value;
  using I = typename TypeParam::index;
  I const rows = 700, cols = 500; // three groups of rows
  for (bool const by_length : {false, true})
    for (std::size_t const move_below : {0, 32}) {
      dynamic_options o = in_rows();
      o.by_length = by_length;
      o.move_below = move_below;
      o.segments = 3;
      dynamic_csr<V, I> a(rows, cols, o);
      model<V, I> m{rows, cols, {}};
      std::mt19937 random(5);
      for (int round = 0; round < 6; ++round) {
        auto const some = random_batch<V, I>(random, rows, cols, round == 3 ? 1 : 4000);
        a.insert(some.row, some.col, some.val);
        m.insert(some);
        auto const one_row = random_batch<V, I>(random, I(1), cols, 3000); // long in the end
        a.insert(one_row.row, one_row.col, one_row.val);
        m.insert(one_row);
        if (round == 4)
          a.defragment();
        for (std::size_t const width : {1, 3, 8, 17, 40}) {
          auto const b = integers(static_cast<std::size_t>(cols) * width, 1);
          std::vector<V> const x(b.begin(), b.end());
          std::vector<V> const ones(static_cast<std::size_t>(rows) * width, V(1));
          std::vector<V> by_columns(x.size());
          auto const in = row_major(x.data(), static_cast<std::size_t>(cols), width);
          for (std::size_t i = 0; i < in.rows; ++i)
            for (std::size_t j = 0; j < width; ++j)
              by_columns[j * in.rows + i] = in(i, j);
          std::vector<V> const expected = product(m, in, ones);
          for (int const threads : {1, 3}) {
            std::vector<V> c = ones;
            auto const out = row_major(c.data(), static_cast<std::size_t>(rows), width);
            spmm(cpu{.threads = threads}, V(1), a, in, V(-1), out);
            ASSERT_EQ(c, expected) << width << " columns, round " << round;
            c = ones;
            spmm(cpu{.threads = threads}, V(1), a,
                 col_major<space::host, V const>(by_columns.data(), in.rows, width), V(-1), out);
            ASSERT_EQ(c, expected) << width << " columns, B by columns";
          }
        }
      }
    }
}

TEST(dynamic_spmm_bits, do_not_depend_on_threads) {
  csr<double> const a = rough(find("skewed").matrix);
  auto d = dynamic_csr<double>::from_csr(a.view(), in_rows());
  std::vector<std::int32_t> row(30000, 5), col(30000);
  for (std::size_t k = 0; k < col.size(); ++k)
    col[k] = static_cast<std::int32_t>(k % static_cast<std::size_t>(a.cols));
  d.insert(row, col, roughs(col.size(), 3)); // cut into pieces that reach over segments
  auto const cols = static_cast<std::size_t>(a.cols), rows = static_cast<std::size_t>(a.rows);
  std::vector<double> const b = roughs(cols * 9, 1);
  std::vector<double> first(rows * 9);
  spmm(cpu{.threads = 1}, 1.0, d, row_major(b.data(), cols, 9), 0.0,
       row_major(first.data(), rows, 9));
  for (int const threads : {2, 3, 7}) {
    std::vector<double> c(rows * 9, std::numeric_limits<double>::quiet_NaN());
    spmm(cpu{.threads = threads}, 1.0, d, row_major(b.data(), cols, 9), 0.0,
         row_major(c.data(), rows, 9));
    EXPECT_TRUE(same_bits(c, first)) << threads;
  }
}

TEST(dynamic_spmm_refuses, what_does_not_fit) {
  dynamic_csr<double> a(4, 3);
  std::vector<double> const b(40, 1);
  std::vector<double> c(40, 5);
  for (int round = 0; round < 2; ++round) { // without entries, and with some
    auto const refused = [&](errc code, std::vector<std::string> const& words, auto&& f) {
      expect_refused(code, words, c, f);
    };
    refused(errc::shape_mismatch, {"B has 2 rows", "3 columns"},
            [&] { spmm(1.0, a, row_major(b.data(), 2, 2), 0.0, row_major(c.data(), 4, 2)); });
    refused(errc::shape_mismatch, {"B has 2 columns", "C has 3"},
            [&] { spmm(1.0, a, row_major(b.data(), 3, 2), 0.0, row_major(c.data(), 4, 3)); });
    refused(errc::bad_structure, {"overlap"}, [&] {
      spmm(1.0, a, row_major<space::host, double const>(c.data(), 3, 2), 0.0,
           row_major(c.data() + 1, 4, 2));
    });
    a.insert(1, 1, 2.0);
  }
  spmm(3.0, a, row_major(b.data(), 3, 2), 0.0, row_major(c.data(), 4, 2));
  EXPECT_EQ(std::vector<double>(c.begin(), c.begin() + 8),
            (std::vector<double>{0, 0, 12, 12, 0, 0, 0, 0}));
  spmm(0.0, a, row_major(b.data(), 3, 2), 2.0, row_major(c.data(), 4, 2));
  EXPECT_EQ(c[2], 24);
}

} // namespace
} // namespace tulle::test::dynamic_spmm_test
