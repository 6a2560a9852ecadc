// SPDX-License-Identifier: Apache-2.0

// The SIMD forms of every instruction set against the standard library.
#include "tulle/core/machine.hpp"

#include "inputs.hpp"
#include "kernel/primitive/forms.hpp"
#include "primitive/segmented.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace tulle::test::simd_test {
namespace {

class simd_sets : public testing::TestWithParam<isa> {
protected:
  void SetUp() override {
    if (!has(GetParam()))
      GTEST_SKIP() << "this processor does not run " << name(GetParam());
  }
  static kernels::forms const& forms() { return kernels::forms_of(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(primitive, simd_sets,
                         testing::Values(isa::baseline, isa::avx2, isa::avx512),
                         [](auto const& info) { return std::string(name(info.param)); });

// Sums of n values of at most 10000 that add up in another order than the oracle's.
template <class V>
double tolerance(std::size_t n) {
  return std::is_integral_v<V> ? 0 : std::numeric_limits<V>::epsilon() * 1e4 * double(n) * 8;
}

template <class V>
void expect_near(std::vector<V> const& got, V const* want, std::size_t count, std::size_t n) {
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_NEAR(got[i], want[i], tolerance<V>(n)) << n << ", at " << i;
}

template <class V>
void check_sums(kernels::sum_forms<V> const& f) {
  for (std::size_t const length : lengths()) {
    auto const n = static_cast<std::int64_t>(length);
    double const near = tolerance<V>(length);
    for (shape const s : sum_shapes) {
      std::vector<V> const in = keys<V>(s, length);
      V const init = V(3);
      V const sum = std::accumulate(in.begin(), in.end(), init);
      ASSERT_NEAR(f.sum(in.data(), n, init), sum, near) << n;
      V const low =
          std::accumulate(in.begin(), in.end(), init, [](V a, V b) { return std::min(a, b); });
      V const high =
          std::accumulate(in.begin(), in.end(), init, [](V a, V b) { return std::max(a, b); });
      ASSERT_EQ(f.least(in.data(), n, init), low);
      ASSERT_EQ(f.greatest(in.data(), n, init), high);
      std::vector<V> want(length + 1, init);
      for (std::size_t i = 0; i < length; ++i)
        want[i + 1] = want[i] + in[i];
      std::vector<V> got = in;
      ASSERT_NEAR(f.inclusive_scan(got.data(), n, got.data(), init), sum, near);
      expect_near(got, want.data() + 1, length, length);
      got = in;
      ASSERT_NEAR(f.exclusive_scan(got.data(), n, got.data(), init), sum, near);
      expect_near(got, want.data(), length, length);
    }
    for (auto const& head : heads(length)) {
      std::vector<V> const in = keys<V>(shape::random, length);
      std::vector<V> want(length);
      std::vector<V> got(length);
      primitive::segmented_scan(in.data(), head.data(), length, want.data());
      f.segmented_scan(in.data(), head.data(), n, got.data());
      expect_near(got, want.data(), length, length);
      want.resize(primitive::segmented_sum(in.data(), head.data(), length, want.data()));
      got.assign(want.size(), V(0)); // no more room than needed
      auto const room = static_cast<std::int64_t>(got.size());
      ASSERT_EQ(f.segmented_sum(in.data(), head.data(), n, got.data(), room), room);
      expect_near(got, want.data(), want.size(), length);
      got = in; // in place
      ASSERT_EQ(f.segmented_sum(got.data(), head.data(), n, got.data(), n), room);
      expect_near(got, want.data(), want.size(), length);
    }
  }
}
TEST_P(simd_sets, sums_and_scans_agree) {
  check_sums(forms().sum_int32);
  check_sums(forms().sum_int64);
  check_sums(forms().sum_uint32);
  check_sums(forms().sum_float);
  check_sums(forms().sum_double);
}

TEST_P(simd_sets, sums_of_segments_do_not_meet) {
  double const inf = std::numeric_limits<double>::infinity();
  std::vector<double> in(50, 1.0);
  std::vector<std::uint8_t> head(50);
  for (std::size_t i = 0; i < 50; i += 3)
    head[i] = 1;
  in[4] = 1e16;
  in[10] = inf;
  in[21] = std::nan("");
  std::vector<double> got(17);
  ASSERT_EQ(forms().sum_double.segmented_sum(in.data(), head.data(), 50, got.data(), 17), 17);
  for (std::size_t s = 0; s < 17; ++s)
    if (s != 1 && s != 3 && s != 7) {
      EXPECT_EQ(got[s], s == 16 ? 2 : 3) << s;
    }
  EXPECT_EQ(got[3], inf);
  EXPECT_TRUE(std::isnan(got[7]));
}

// Values are positions, the first of them NaN where there is one, which moves like any other.
template <class V>
std::vector<V> positions(std::size_t n, int first) {
  std::vector<V> at(n);
  std::iota(at.begin(), at.end(), static_cast<V>(first));
  if (std::is_floating_point_v<V> && n > 0)
    at[0] = std::numeric_limits<V>::quiet_NaN();
  return at;
}
template <class V>
bool same(std::vector<V> const& a, std::vector<V> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](V x, V y) { return x == y || (x != x && y != y); });
}

template <class K, class V>
void check_sorted_pairs(kernels::pair_forms<K, V> const& f, std::vector<K> const& in) {
  std::size_t const n = in.size();
  std::vector<V> const at = positions<V>(n, 0);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return in[a] < in[b]; });
  std::vector<K> want;
  std::vector<V> wantv;
  for (std::size_t const i : order) {
    want.push_back(in[i]);
    wantv.push_back(at[i]);
  }
  std::vector<K> got = in;
  std::vector<V> gotv = at;
  f.bitonic_sort(got.data(), gotv.data(), static_cast<std::int64_t>(n));
  ASSERT_EQ(got, want) << n;
  ASSERT_TRUE(same(gotv, wantv)) << n;
}

template <class K>
void check_sort(kernels::key_forms<K> const& f) {
  for (std::size_t const n : lengths(512))
    for (shape const s : all_shapes) {
      std::vector<K> const in = keys<K>(s, n);
      std::vector<K> want = in;
      std::sort(want.begin(), want.end());
      std::vector<K> got = in;
      f.bitonic_sort(got.data(), static_cast<std::int64_t>(n));
      ASSERT_EQ(got, want) << n;
      check_sorted_pairs(f.of_float, in);
      check_sorted_pairs(f.of_double, in);
      check_sorted_pairs(f.of_int32, in);
      check_sorted_pairs(f.of_int64, in);
    }
}
TEST_P(simd_sets, bitonic_sorts_agree_and_those_of_pairs_are_stable) {
  check_sort(forms().key_int32);
  check_sort(forms().key_int64);
}

// Many pairs of lists of up to `longest` keys, some empty, some as long as that.
template <class K>
struct batch {
  std::vector<std::int64_t> a_ptr = {0}, b_ptr = {0};
  std::vector<K> a, b, want;
  std::vector<std::size_t> order; // of the result: positions in a, then in b

  batch(shape s, std::size_t longest, std::size_t lists) {
    std::mt19937 random(static_cast<unsigned>(longest));
    for (std::size_t p = 0; p < lists; ++p) {
      std::size_t const na = p % 5 == 1 ? longest : p % 5 == 2 ? 0 : random() % (longest + 1);
      std::size_t const nb = p % 5 == 1 ? longest : p % 5 == 0 ? 0 : random() % (longest + 1);
      for (auto [list, ptr, n] : {std::tuple(&a, &a_ptr, na), std::tuple(&b, &b_ptr, nb)}) {
        std::vector<K> k = keys<K>(s, n, static_cast<unsigned>(random()));
        if (s == shape::sorted && list == &b) // behind all of a or before it
          for (K& key : k)
            key += p % 2 ? 20001 : -20001;
        std::sort(k.begin(), k.end());
        list->insert(list->end(), k.begin(), k.end());
        ptr->push_back(static_cast<std::int64_t>(list->size()));
      }
    }
    for (std::size_t p = 0; p < lists; ++p) {
      auto i = static_cast<std::size_t>(a_ptr[p]);
      auto j = static_cast<std::size_t>(b_ptr[p]);
      auto const i_end = static_cast<std::size_t>(a_ptr[p + 1]);
      auto const j_end = static_cast<std::size_t>(b_ptr[p + 1]);
      while (i < i_end || j < j_end) {
        bool const from_b = i == i_end || (j < j_end && b[j] < a[i]);
        want.push_back(from_b ? b[j] : a[i]);
        order.push_back(from_b ? a.size() + j++ : i++);
      }
    }
  }
};

template <class K, class V>
void check_merged_pairs(kernels::pair_forms<K, V> const& f, batch<K> const& c) {
  std::vector<V> const av = positions<V>(c.a.size(), 0);
  std::vector<V> const bv = positions<V>(c.b.size(), static_cast<int>(c.a.size()));
  std::vector<K> got(c.want.size());
  std::vector<V> gotv(c.want.size());
  std::vector<V> wantv;
  for (std::size_t const p : c.order)
    wantv.push_back(p < c.a.size() ? av[p] : bv[p - c.a.size()]);
  f.merge(static_cast<std::int64_t>(c.a_ptr.size()) - 1, c.a_ptr.data(), c.a.data(), av.data(),
          c.b_ptr.data(), c.b.data(), bv.data(), got.data(), gotv.data());
  ASSERT_EQ(got, c.want);
  ASSERT_TRUE(same(gotv, wantv));
}

template <class K>
void check_merge(kernels::key_forms<K> const& f) {
  for (std::size_t const longest : lengths())
    for (shape const s : {shape::random, shape::few, shape::equal, shape::sorted, shape::extreme}) {
      batch<K> const c(s, longest, longest > 300 ? 4 : 12);
      std::vector<K> got(c.want.size());
      f.merge(static_cast<std::int64_t>(c.a_ptr.size()) - 1, c.a_ptr.data(), c.a.data(),
              c.b_ptr.data(), c.b.data(), got.data());
      ASSERT_EQ(got, c.want) << longest;
      check_merged_pairs(f.of_float, c);
      check_merged_pairs(f.of_double, c);
      check_merged_pairs(f.of_int32, c);
      check_merged_pairs(f.of_int64, c);
    }
}
TEST_P(simd_sets, merges_of_many_lists_are_stable) {
  check_merge(forms().key_int32);
  check_merge(forms().key_int64);
}

template <class I>
void check_intersection(kernels::key_forms<I> const& f) {
  for (std::size_t const na : lengths())
    for (std::size_t const nb : {std::size_t(0), na / 100, na / 3, na, na + 7, 80 * na % 5000})
      for (unsigned const gap : {1u, 2u, 9u}) {
        std::vector<I> const a = indices<I>(na, gap, 1);
        std::vector<I> const b = indices<I>(nb, nb * 10 < na ? 100 * gap : gap, 2);
        std::vector<I> want;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(want));
        std::vector<std::int32_t> at_a(std::min(na, nb));
        std::vector<std::int32_t> at_b(std::min(na, nb));
        auto const found = static_cast<std::size_t>(
            f.intersection(a.data(), static_cast<std::int64_t>(na), b.data(),
                           static_cast<std::int64_t>(nb), at_a.data(), at_b.data()));
        ASSERT_EQ(found, want.size()) << na << " " << nb;
        for (std::size_t k = 0; k < found; ++k) {
          ASSERT_EQ(a[static_cast<std::size_t>(at_a[k])], want[k]);
          ASSERT_EQ(b[static_cast<std::size_t>(at_b[k])], want[k]);
        }
      }
}
TEST_P(simd_sets, intersections_agree) {
  check_intersection(forms().key_int32);
  check_intersection(forms().key_int64);
}

template <class K>
void check_heap(kernels::heap_forms<K> const& f) {
  for (std::size_t const n : lengths())
    for (shape const s : all_shapes)
      for (kernels::heap_sort<K> const sort : {f.d2, f.d4, f.d5, f.d8, f.d16, f.d32, f.d64}) {
        std::vector<K> want = keys<K>(s, n);
        std::vector<K> got(n);
        std::vector<K> room(n + 64);
        std::vector<std::int32_t> names(n + 64);
        std::vector<std::int32_t> places(n);
        sort(want.data(), static_cast<std::int64_t>(n), got.data(), room.data(), names.data(),
             places.data());
        std::sort(want.rbegin(), want.rend());
        ASSERT_EQ(got, want) << n;
      }
}
TEST_P(simd_sets, heaps_give_the_greatest_first) {
  check_heap(forms().heap_int32);
  check_heap(forms().heap_int64);
  check_heap(forms().heap_float);
  check_heap(forms().heap_double);
}

} // namespace
} // namespace tulle::test::simd_test
