// SPDX-License-Identifier: Apache-2.0

// coo to csr: entries in any order, on the road for rows in order and on the other.
#include "tulle/format/coo.hpp"

#include <complex>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <vector>

namespace tulle::test::coo_test {
namespace {

enum class order { any, by_row, few_places, one_row };

template <class V, class I, class O>
coo<V, I, O> some(order how, std::size_t n, I rows, I cols) {
  std::mt19937 random(static_cast<unsigned>(n));
  coo<V, I, O> a(unchecked, rows, cols, array<I>(n), array<I>(n), array<V>(n));
  for (std::size_t k = 0; k < n; ++k) {
    auto const r = static_cast<std::uint64_t>(random());
    a.row[k] =
        static_cast<I>(how == order::by_row    ? k * static_cast<std::size_t>(rows) / n
                       : how == order::one_row ? static_cast<std::size_t>(rows / 2) + (k == 0)
                                               : r % static_cast<std::uint64_t>(rows));
    a.col[k] = static_cast<I>(random() % static_cast<std::uint64_t>(cols));
    if (how == order::few_places)
      a.row[k] %= 3, a.col[k] %= 5;
    a.val[k] = static_cast<V>(static_cast<float>(random()) / 3e7f); // sums that round
  }
  return a;
}

// Entry by entry, in the order stored.
template <class V, class I, class O>
csr<V, I, O> one_by_one(coo<V, I, O> const& a) {
  std::map<std::pair<I, I>, V> all;
  for (std::size_t k = 0; k < a.val.size(); ++k) {
    auto const [at, is_new] = all.try_emplace({a.row[k], a.col[k]}, a.val[k]);
    if (!is_new)
      at->second += a.val[k];
  }
  csr<V, I, O> c(unchecked, a.rows, a.cols, array<O>(static_cast<std::size_t>(a.rows) + 1, O(0)),
                 array<I>(all.size()), array<V>(all.size()));
  std::size_t k = 0;
  for (auto const& [place, v] : all) {
    ++c.row_ptr[static_cast<std::size_t>(place.first) + 1];
    c.col[k] = place.second;
    c.val[k++] = v;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i)
    c.row_ptr[i + 1] += c.row_ptr[i];
  return c;
}

template <class V, class I, class O>
void expect_summed_in_order() {
  for (order const how : {order::any, order::by_row, order::few_places, order::one_row})
    for (std::size_t const n : {0u, 1u, 2u, 100u, 5000u, 160000u}) {
      auto const a = some<V, I, O>(how, n, 3000, 700);
      auto const want = one_by_one(a);
      for (int const threads : {1, 2, 3, 7})
        EXPECT_EQ(a.to_csr(cpu{.threads = threads}), want)
            << n << " entries, order " << static_cast<int>(how) << ", " << threads << " threads";
    }
}

TEST(coo, to_csr_sums_duplicates_in_the_order_stored) {
  expect_summed_in_order<double, std::int32_t, std::int32_t>();
  expect_summed_in_order<float, std::int64_t, std::int64_t>();
  expect_summed_in_order<std::complex<double>, std::int32_t, std::int64_t>();
}

// Keys of 64 bits and more.
TEST(coo, to_csr_takes_places_far_apart) {
  using I = std::int64_t;
  I const cols = I(1) << 62;
  coo<double, I> const a(3, cols, {2, 0, 2, 0}, {cols - 1, 5, 7, cols / 2}, {1, 2, 3, 4});
  csr<double, I> const c = a.to_csr();
  EXPECT_EQ(c.row_ptr, (array<I>{0, 2, 2, 4}));
  EXPECT_EQ(c.col, (array<I>{5, cols / 2, 7, cols - 1}));
  EXPECT_EQ(c.val, (array<double>{2, 4, 3, 1}));
}

// Kirk & Hwu, figures 10.1, 10.2, 10.11 and 10.12: their small example by rows, by coordinates, and
// with the coordinates in another order, the first entry being that of row 3 and column 0.
TEST(coo, kirk_hwu_figures_10_2_10_11_and_10_12) {
  csr<double> const a(4, 4, {0, 2, 2, 5, 7}, {0, 2, 1, 2, 3, 0, 3}, {3, 1, 2, 4, 1, 1, 1});
  auto const b = coo<double>::from_csr(a.view());
  EXPECT_EQ(b.row, (array<std::int32_t>{0, 0, 2, 2, 2, 3, 3}));
  EXPECT_EQ(b.col, a.col);
  EXPECT_EQ(b.val, a.val);
  coo<double> const reordered(4, 4, {3, 0, 2, 2, 0, 2, 3}, {0, 2, 1, 2, 0, 3, 3},
                              {1, 1, 2, 4, 3, 1, 1});
  EXPECT_EQ(reordered.to_csr(), a);
}

} // namespace
} // namespace tulle::test::coo_test
