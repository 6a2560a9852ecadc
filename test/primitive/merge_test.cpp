// SPDX-License-Identifier: Apache-2.0

// Merges, sets and searches against the standard library.
#include "inputs.hpp"
#include "primitive/merge.hpp"
#include "primitive/set.hpp"

#include <gtest/gtest.h>
#include <numeric>

namespace tulle::test::merge_test {
namespace {

namespace pr = primitive;

template <class K>
class merges : public testing::Test {};
using key_types = testing::Types<std::int32_t, std::int64_t, std::uint32_t, float, double>;
TYPED_TEST_SUITE(merges, key_types);

// Values tell list and position apart, so equality with std::merge, which is stable, is stability.
template <class K>
struct merge_case {
  std::vector<K> a, b, want;
  std::vector<int> av, bv, wantv;

  merge_case(shape s, std::size_t na, std::size_t nb)
      : a(keys<K>(s, na, 1)), b(keys<K>(s, nb, 2)), want(na + nb), av(na), bv(nb), wantv(na + nb) {
    // Lists that do not overlap, b behind a or before it.
    if (s == shape::sorted)
      std::iota(b.begin(), b.end(), na == 0 ? K(0) : static_cast<K>(a.back() + 1));
    if (s == shape::reversed && nb > 0)
      std::iota(a.begin(), a.end(), static_cast<K>(b.front() + 1));
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    for (std::size_t i = 0; i < na; ++i)
      av[i] = static_cast<int>(i);
    for (std::size_t j = 0; j < nb; ++j)
      bv[j] = -1 - static_cast<int>(j);
    std::vector<int> at(na + nb); // positions in a, or in b from na on
    std::vector<int> ia(na);
    std::vector<int> ib(nb);
    for (std::size_t i = 0; i < na; ++i)
      ia[i] = static_cast<int>(i);
    for (std::size_t j = 0; j < nb; ++j)
      ib[j] = static_cast<int>(na + j);
    auto const key = [&](int p) {
      auto const q = static_cast<std::size_t>(p);
      return q < na ? a[q] : b[q - na];
    };
    std::merge(ia.begin(), ia.end(), ib.begin(), ib.end(), at.begin(),
               [&](int p, int q) { return key(p) < key(q); });
    for (std::size_t k = 0; k < at.size(); ++k) {
      want[k] = key(at[k]);
      auto const q = static_cast<std::size_t>(at[k]);
      wantv[k] = q < na ? av[q] : bv[q - na];
    }
  }
};

TYPED_TEST(merges, are_stable_and_agree_with_the_standard_library) {
  using K = TypeParam;
  for (std::size_t const na : lengths())
    for (std::size_t const nb : {std::size_t(0), na / 3, na, na + 7})
      for (shape const s : all_shapes) {
        merge_case<K> const c(s, na, nb);
        std::vector<K> out(na + nb);
        std::vector<int> outv(na + nb);
        auto const check = [&](char const* what, bool values) {
          ASSERT_EQ(out, c.want) << what << " " << na << " " << nb;
          if (values) {
            ASSERT_EQ(outv, c.wantv) << what << " " << na << " " << nb;
          }
          std::fill(out.begin(), out.end(), K(1));
          std::fill(outv.begin(), outv.end(), 0);
        };
        K const* const a = c.a.data();
        K const* const b = c.b.data();
        pr::serial_merge(a, na, b, nb, out.data());
        check("serial", false);
        pr::serial_merge(a, c.av.data(), na, b, c.bv.data(), nb, out.data(), outv.data());
        check("serial", true);
        pr::ranking_merge(a, na, b, nb, out.data());
        check("ranking", false);
        pr::ranking_merge(a, c.av.data(), na, b, c.bv.data(), nb, out.data(), outv.data());
        check("ranking", true);
        for (std::size_t const parts : {1, 2, 3, 7}) {
          for (std::size_t p = parts; p-- > 0;)
            pr::merge_part(a, na, b, nb, out.data(), p, parts);
          check("path", false);
          for (std::size_t p = parts; p-- > 0;)
            pr::merge_part(a, c.av.data(), na, b, c.bv.data(), nb, out.data(), outv.data(), p,
                           parts);
          check("path", true);
        }
      }
}

TEST(merge_path, counts_what_comes_from_the_first_list) {
  merge_case<int> const c(shape::few, 37, 50);
  std::size_t from_a = 0;
  for (std::size_t d = 0; d <= 87; ++d) {
    EXPECT_EQ(pr::merge_path(c.a.data(), 37, c.b.data(), 50, d), from_a);
    from_a += d < 87 && c.wantv[d] >= 0;
  }
}

TYPED_TEST(merges, searches_find_what_the_standard_library_finds) {
  using K = TypeParam;
  for (std::size_t const n : lengths())
    for (shape const s : {shape::random, shape::few, shape::equal, shape::extreme}) {
      std::vector<K> sorted = keys<K>(s, n);
      std::sort(sorted.begin(), sorted.end());
      std::vector<K> wanted = keys<K>(shape::extreme, 60, 9);
      for (std::size_t i = 0; i < n; i += n / 40 + 1) // and keys that are there
        wanted.push_back(sorted[i]);
      std::vector<std::int64_t> got(wanted.size());
      pr::lower_bound(sorted.data(), n, wanted.data(), wanted.size(), got.data());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        auto const at = std::lower_bound(sorted.begin(), sorted.end(), wanted[i]);
        ASSERT_EQ(got[i], at - sorted.begin()) << n;
        auto const after = std::upper_bound(sorted.begin(), sorted.end(), wanted[i]);
        ASSERT_EQ(pr::upper_bound(sorted.data(), n, wanted[i]),
                  static_cast<std::size_t>(after - sorted.begin()));
      }
    }
}

template <class I>
class sets : public testing::Test {};
using index_types = testing::Types<std::int32_t, std::int64_t, std::uint32_t>;
TYPED_TEST_SUITE(sets, index_types);

TYPED_TEST(sets, intersect_and_unite_as_the_standard_library_does) {
  using I = TypeParam;
  for (std::size_t const na : lengths())
    for (std::size_t const nb : {std::size_t(0), na / 3, na, na + 7})
      for (unsigned const gap : {1u, 2u, 9u}) {
        std::vector<I> const a = indices<I>(na, gap, 1);
        std::vector<I> b = indices<I>(nb, gap, 2);
        if (gap == 1 && na % 2) // behind all of a
          for (I& j : b)
            j += static_cast<I>(na);
        std::vector<I> want;
        std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(want));
        std::vector<std::int32_t> at_a(na);
        std::vector<std::int32_t> at_b(nb);
        std::size_t const found =
            pr::intersection(a.data(), na, b.data(), nb, at_a.data(), at_b.data());
        ASSERT_EQ(found, want.size());
        for (std::size_t k = 0; k < found; ++k) {
          ASSERT_EQ(a[static_cast<std::size_t>(at_a[k])], want[k]);
          ASSERT_EQ(b[static_cast<std::size_t>(at_b[k])], want[k]);
        }
        want.clear();
        std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(want));
        std::vector<I> got(na + nb);
        got.resize(pr::union_(a.data(), na, b.data(), nb, got.data()));
        ASSERT_EQ(got, want);
        pr::union_(a.data(), na, b.data(), nb, [&](I index, std::size_t i, std::size_t j) {
          ASSERT_TRUE(i < na || j < nb);
          ASSERT_TRUE(i == na || a[i] == index);
          ASSERT_TRUE(j == nb || b[j] == index);
        });
      }
}

} // namespace
} // namespace tulle::test::merge_test
