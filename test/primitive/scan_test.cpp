// SPDX-License-Identifier: Apache-2.0

// Reduction, scans and segmented sums against the standard library and sums taken by hand.
#include "inputs.hpp"
#include "primitive/reduce.hpp"
#include "primitive/scan.hpp"
#include "primitive/segmented.hpp"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

namespace tulle::test::scan_test {
namespace {

namespace pr = primitive;

template <class T>
class scans : public testing::Test {};
using scan_types = testing::Types<std::int32_t, std::int64_t, std::uint32_t, float, double>;
TYPED_TEST_SUITE(scans, scan_types);

TYPED_TEST(scans, agree_with_the_standard_library) {
  using T = TypeParam;
  for (std::size_t const n : lengths())
    for (shape const s : sum_shapes) {
      std::vector<T> const in = keys<T>(s, n);
      T const init = T(3);
      EXPECT_EQ(pr::reduce(in.data(), n, init), std::accumulate(in.begin(), in.end(), init)) << n;
      std::vector<T> want(n);
      std::vector<T> got(n);
      std::inclusive_scan(in.begin(), in.end(), want.begin(), std::plus<T>(), init);
      EXPECT_EQ(pr::inclusive_scan(in.data(), n, got.data(), init), n ? want.back() : init);
      ASSERT_EQ(got, want) << n;
      got = in;
      pr::inclusive_scan(got.data(), n, got.data(), init);
      ASSERT_EQ(got, want) << n << " in place";
      std::exclusive_scan(in.begin(), in.end(), want.begin(), init);
      EXPECT_EQ(pr::exclusive_scan(in.data(), n, got.data(), init),
                std::accumulate(in.begin(), in.end(), init));
      ASSERT_EQ(got, want) << n;
      got = in;
      pr::exclusive_scan(got.data(), n, got.data(), init);
      ASSERT_EQ(got, want) << n << " in place";
    }
}

TYPED_TEST(scans, in_parallel_have_the_same_bits_for_every_number_of_threads) {
  using T = TypeParam;
  std::vector<std::size_t> all = lengths();
  all.insert(all.end(), {8191, 8192, 8193, 100003, 300000});
  for (std::size_t const n : all) {
    std::vector<T> in = keys<T>(shape::random, n);
    if constexpr (std::is_floating_point_v<T>)
      for (T& x : in) // sums that round
        x = std::exp(x / T(2000));
    std::vector<T> want(n);
    T const init = T(3);
    T const sum = pr::exclusive_scan(in.data(), n, want.data(), init);
    std::vector<T> first;
    for (int const threads : {1, 2, 3, 7}) {
      std::vector<T> got = in;
      T const total =
          pr::parallel_exclusive_scan(got.data(), n, got.data(), cpu{.threads = threads}, init);
      if constexpr (std::is_integral_v<T>) {
        ASSERT_EQ(got, want) << n << " " << threads;
        ASSERT_EQ(total, sum);
      } else {
        ASSERT_NEAR(total, sum, std::abs(sum) * 1e-3);
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_NEAR(got[i], want[i], std::abs(want[i]) * 1e-3) << n << " entry " << i;
        if (first.empty())
          first = got;
        ASSERT_TRUE(n == 0 || std::memcmp(first.data(), got.data(), n * sizeof(T)) == 0)
            << n << " " << threads;
      }
    }
  }
}

TYPED_TEST(scans, by_segments_begin_anew_at_every_head) {
  using T = TypeParam;
  for (std::size_t const n : lengths())
    for (auto const& head : heads(n)) {
      std::vector<T> const in = keys<T>(shape::random, n);
      std::vector<T> scan(n);
      std::vector<T> sums;
      for (std::size_t i = 0; i < n; ++i) {
        bool const begins = i == 0 || head[i];
        scan[i] = begins ? in[i] : static_cast<T>(scan[i - 1] + in[i]);
        if (begins)
          sums.push_back(in[i]);
        else
          sums.back() = scan[i];
      }
      std::vector<T> got(n);
      pr::segmented_scan(in.data(), head.data(), n, got.data());
      ASSERT_EQ(got, scan) << n;
      ASSERT_EQ(pr::segmented_sum(in.data(), head.data(), n, got.data()), sums.size());
      got.resize(sums.size());
      ASSERT_EQ(got, sums) << n;
      // Small integers are exact in every type but float, and then the subtractive form is, too.
      if constexpr (!std::is_same_v<T, float>) {
        std::vector<std::int32_t> offset(n);
        pr::seg_offset(head.data(), n, offset.data());
        got.resize(n);
        pr::fast_segmented_sum(in.data(), offset.data(), n, got.data());
        for (std::size_t i = 0, s = 0; i < n; ++i) {
          bool const begins = i == 0 || head[i];
          ASSERT_EQ(got[i], begins ? sums[s] : in[i]) << n << " entry " << i;
          s += begins;
        }
      }
    }
}

TEST(segments, after_large_ones_lose_their_digits_in_the_fast_form_only) {
  std::vector<double> const in = {1e16, 1, 2, 3, -5};
  std::uint8_t const head[] = {1, 1, 0, 0, 1};
  int offset[5];
  double fast[5];
  double exact[5];
  pr::seg_offset(head, 5, offset);
  pr::fast_segmented_sum(in.data(), offset, 5, fast);
  EXPECT_EQ(pr::segmented_sum(in.data(), head, 5, exact), 3u);
  EXPECT_EQ(exact[1], 6);
  EXPECT_NE(fast[1], 6);
  EXPECT_EQ(exact[2], -5);

  double const infinite[] = {std::numeric_limits<double>::infinity(), 1, 2, 3, -5};
  pr::fast_segmented_sum(infinite, offset, 5, fast);
  EXPECT_TRUE(std::isnan(fast[1]));
  pr::segmented_sum(infinite, head, 5, exact);
  EXPECT_EQ(exact[1], 6);
}

TEST(segments, have_the_offsets_of_the_picture) {
  int const in[] = {3, 1, 7, 0, 4, 1, 6, 3};
  int const head[] = {1, 0, 1, 0, 0, 0, 1, 0};
  std::vector<int> out(8);
  pr::segmented_scan(in, head, 8, out.data());
  EXPECT_EQ(out, (std::vector{3, 4, 7, 7, 11, 12, 6, 9}));
  std::vector<int> offset(8);
  pr::seg_offset(head, 8, offset.data());
  EXPECT_EQ(offset, (std::vector{1, 0, 3, 0, 0, 0, 1, 0}));
  pr::fast_segmented_sum(in, offset.data(), 8, out.data());
  EXPECT_EQ(out, (std::vector{4, 1, 12, 0, 4, 1, 9, 3}));
}

} // namespace
} // namespace tulle::test::scan_test
