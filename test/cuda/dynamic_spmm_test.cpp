// SPDX-License-Identifier: Apache-2.0

// spmm of matrices that have grown on the device.
#include "tulle/gen/generate.hpp"
#include "tulle/op/spmm.hpp"

#include "cuda/grown.hpp"
#include "device/operands.hpp"
#include "support/expect.hpp"
#include "support/zoo.hpp"

namespace tulle::test::device_dynamic_spmm_test {
namespace {

csr<double> with_long_rows() {
  std::vector<std::int32_t> lengths(300, 5);
  lengths[0] = 511;
  lengths[1] = 512;
  lengths[100] = 513;
  lengths[299] = 30'000;
  lengths[298] = 0;
  return from_lengths(30'000, lengths);
}

template <class V, class I>
std::vector<V> dense_product(device_dynamic_csr<V, I> const& a, std::vector<V> const& b,
                             std::size_t width) {
  device_array<V> const x(b);
  device_array<V> y(static_cast<std::size_t>(a.rows()) * width);
  detail::device_set(y.data(), 0xff, y.bytes(), cuda{});
  spmm(V(1), a, row_major<space::cuda>(x.data(), static_cast<std::size_t>(a.cols()), width), V(0),
       row_major<space::cuda>(y.data(), static_cast<std::size_t>(a.rows()), width));
  return from_there(y);
}

// From csr with some of it once more, few enough that products do not defragment; and with a row
// that has much behind.
TEST(device_dynamic_spmm, is_exact_on_fragments_and_repeats) {
  using device_dynamic_test::shuffled;
  using matrix = device_dynamic_csr<double>;
  for (csr<double> const& a :
       {with_long_rows(), other_values(generate("poisson2d5:60")),
        other_values(generate("fem:900")), other_values(generate("circuit:3000")),
        find("all_rows_empty").matrix}) {
    auto const b = shuffled(a);
    std::size_t const n = b.val.size(), few = n / 60;
    auto d = matrix::from_csr(a.view()), again = matrix::from_csr(a.view());
    model<double, std::int32_t> m{a.rows, a.cols, {}};
    m.insert(b);
    auto const check = [&](std::size_t width) {
      std::vector<double> const x = integers(static_cast<std::size_t>(a.cols) * width, 3);
      std::vector<double> expected(static_cast<std::size_t>(a.rows) * width);
      for (auto const& [place, v] : m.at)
        for (std::size_t j = 0; j < width; ++j)
          expected[static_cast<std::size_t>(place.first) * width + j] +=
              v * x[static_cast<std::size_t>(place.second) * width + j];
      ASSERT_EQ(dense_product(d, x, width), expected) << width << " columns";
      ASSERT_EQ(dense_product(again, x, width), expected) << width << " columns";
      std::vector<double> const y = roughs(x.size(), 4);
      EXPECT_TRUE(same_bits(dense_product(d, y, width), dense_product(again, y, width)));
    };
    for (std::size_t const width : {8, 3, 32}) {
      auto const some = [&](auto const& from) { return std::span(from).subspan(width, few); };
      d.insert(some(b.row), some(b.col), some(b.val));
      again.insert(some(b.row), some(b.col), some(b.val));
      for (std::size_t k = width; k < width + few; ++k)
        m.at[{b.row[k], b.col[k]}] += b.val[k];
      EXPECT_EQ(d.shape().compact, few == 0);
      check(width);
    }
    if (n == 0)
      continue;
    std::vector<std::int32_t> const row(2000, 1); // crowded
    std::vector<std::int32_t> col(2000);
    for (std::size_t k = 0; k < col.size(); ++k)
      col[k] = static_cast<std::int32_t>(k * 7 % static_cast<std::size_t>(a.cols));
    std::vector<double> const val(2000, 1);
    d.insert(row, col, val);
    again.insert(row, col, val);
    for (std::size_t k = 0; k < col.size(); ++k)
      m.at[{1, col[k]}] += 1;
    EXPECT_FALSE(d.shape().compact);
    check(16);
  }
}

TEST(device_dynamic_spmm, has_its_streams_and_refuses_what_does_not_fit) {
  own_queue const own, other;
  device_dynamic_options o;
  o.where = own;
  device_dynamic_csr<double> a(4, 3, o);
  a.insert(std::vector<std::int32_t>{1, 3}, std::vector<std::int32_t>{1, 0},
           std::vector<double>{2, 5});
  device_array<double> const b(std::vector<double>(6, 1), other);
  device_array<double> c(std::vector<double>(8, 1), other);
  auto const in = row_major<space::cuda>(b.data(), 3, 2);
  auto const out = row_major<space::cuda>(c.data(), 4, 2);
  spmm(cuda(other), 1.0, a, in, -1.0, out);
  synchronize(other);
  EXPECT_EQ(from_there(c), (std::vector<double>{-1, -1, 1, 1, -1, -1, 4, 4}));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"C has 3 rows", "4 rows"},
                         [&] { spmm(1.0, a, in, 0.0, row_major<space::cuda>(c.data(), 3, 2)); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"overlap"}, [&] {
    spmm(1.0, a, row_major<space::cuda, double const>(c.data(), 3, 2), 0.0, out);
  }));
}

} // namespace
} // namespace tulle::test::device_dynamic_spmm_test
