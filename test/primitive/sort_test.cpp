// SPDX-License-Identifier: Apache-2.0

// Sorts by network and by radix against the standard library.
#include "tulle/op/detail/radix_sort.hpp"

#include "inputs.hpp"
#include "primitive/network_sort.hpp"

#include <gtest/gtest.h>
#include <numeric>

namespace tulle::test::sort_test {
namespace {

namespace pr = primitive;

template <class K>
class network_sorts : public testing::Test {};
using key_types = testing::Types<std::int32_t, std::int64_t, std::uint32_t, float, double>;
TYPED_TEST_SUITE(network_sorts, key_types);

// Values are positions: after the sort each must point at its key.
template <class K, class Sort>
void check_pairs(std::vector<K> const& in, std::vector<K> const& want, Sort sort) {
  std::vector<K> got = in;
  std::vector<double> at(in.size());
  std::iota(at.begin(), at.end(), 0);
  sort(got.data(), at.data(), in.size());
  ASSERT_EQ(got, want) << in.size();
  std::vector<bool> seen(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto const from = static_cast<std::size_t>(at[i]);
    ASSERT_EQ(in[from], got[i]) << in.size();
    ASSERT_FALSE(seen[from]);
    seen[from] = true;
  }
}

TYPED_TEST(network_sorts, sort_keys_and_pairs_of_any_length) {
  using K = TypeParam;
  for (std::size_t const n : lengths())
    for (shape const s : all_shapes) {
      std::vector<K> const in = keys<K>(s, n);
      std::vector<K> want = in;
      std::sort(want.begin(), want.end());
      std::vector<K> got = in;
      pr::bitonic_sort(got.data(), n);
      ASSERT_EQ(got, want) << n;
      got = in;
      pr::odd_even_sort(got.data(), n);
      ASSERT_EQ(got, want) << n;
      check_pairs(in, want, [](K* k, double* v, std::size_t m) { pr::bitonic_sort(k, v, m); });
      check_pairs(in, want, [](K* k, double* v, std::size_t m) { pr::odd_even_sort(k, v, m); });
    }
}

template <class I, class V>
struct triplets {
  std::vector<I> row, col;
  std::vector<V> val;
  bool operator==(triplets const&) const = default;
};

template <class I, class V>
triplets<I, V> draw(std::size_t n, I rows, I cols, unsigned kind) {
  std::mt19937_64 random(n + kind);
  triplets<I, V> t;
  for (std::size_t k = 0; k < n; ++k) {
    I r = static_cast<I>(random() % static_cast<std::uint64_t>(rows));
    I c = static_cast<I>(random() % static_cast<std::uint64_t>(cols));
    if (kind == 1) // one entry, again and again
      r = rows - 1, c = cols / 2;
    if (kind == 2 && k % 10) // most in one row
      r = rows / 3;
    if (kind == 3) // sorted already
      r = static_cast<I>(k * static_cast<std::size_t>(rows - 1) / n), c = 0;
    if (kind == 4) // reversed, in few columns
      r = static_cast<I>(static_cast<std::size_t>(rows - 1) * (n - k) / n), c %= 3;
    if (kind == 5) // organ pipe
      r = static_cast<I>(std::min(k, n - k) % static_cast<std::size_t>(rows)), c = 0;
    t.row.push_back(r);
    t.col.push_back(c % cols);
    t.val.push_back(static_cast<V>(k));
  }
  return t;
}

template <class I, class V>
triplets<I, V> stably_sorted(triplets<I, V> const& t) {
  std::vector<std::size_t> order(t.row.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return t.row[a] != t.row[b] ? t.row[a] < t.row[b] : t.col[a] < t.col[b];
  });
  triplets<I, V> sorted;
  for (std::size_t const k : order) {
    sorted.row.push_back(t.row[k]);
    sorted.col.push_back(t.col[k]);
    sorted.val.push_back(t.val[k]);
  }
  return sorted;
}

// Values are positions, so equality with a stable sort is stability.
template <class I, class V>
void check_radix(std::size_t n, I rows, I cols) {
  for (unsigned kind = 0; kind < 6; ++kind) {
    triplets<I, V> const in = draw<I, V>(n, rows, cols, kind);
    triplets<I, V> const want = stably_sorted(in);
    for (int const threads : {1, 2, 3, 7}) {
      triplets<I, V> got = in;
      pr::radix_sort(got.row.data(), got.col.data(), got.val.data(), n, rows, cols,
                     cpu{.threads = threads});
      ASSERT_TRUE(got == want) << n << " of kind " << kind << " by " << threads;
    }
  }
}

TEST(radix_sort, is_stable_whatever_the_lengths) {
  for (std::size_t const n : lengths()) {
    check_radix<std::int32_t, double>(n, 50, 30);
    check_radix<std::int32_t, float>(n, 100000, 2000000);
    check_radix<std::uint32_t, std::int32_t>(n, 1, 3000000000u);
    check_radix<std::int64_t, std::int64_t>(n, std::int64_t(1) << 40, 1);
    // Keys of 64 bits, and of more.
    check_radix<std::int64_t, double>(n, std::int64_t(1) << 40, std::int64_t(1) << 24);
    check_radix<std::uint32_t, float>(n, 4000000000u, 4000000000u);
    check_radix<std::int64_t, double>(n, std::int64_t(1) << 50, std::int64_t(1) << 40);
  }
}

TEST(radix_sort, of_many_entries_in_large_buckets_too) {
  check_radix<std::int32_t, double>(150000, 100000, 100000);
  check_radix<std::int32_t, float>(150000, 3, 1000);
  // Keys of more than 64 bits.
  check_radix<std::int64_t, double>(100000, std::int64_t(1) << 50, std::int64_t(1) << 40);
}

TEST(radix_sort, carries_nan_along) {
  int row[] = {2, 0, 2, 1};
  int col[] = {1, 1, 0, 0};
  double val[] = {0, 1, std::numeric_limits<double>::quiet_NaN(), 3};
  pr::radix_sort(row, col, val, 4, 3, 2);
  EXPECT_EQ(val[0], 1);
  EXPECT_EQ(val[1], 3);
  EXPECT_NE(val[2], val[2]);
  EXPECT_EQ(val[3], 0);
}

} // namespace
} // namespace tulle::test::sort_test
