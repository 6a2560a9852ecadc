// SPDX-License-Identifier: Apache-2.0

// Sparse vectors themselves: what makes one, what is refused, and what comes back.
#include "tulle/format/sparse_vector.hpp"

#include "op/vectors.hpp"
#include "support/memory.hpp"

#include <cmath>
#include <limits>

namespace tulle::test::sparse_vector_test {
namespace {

template <class T>
struct sparse_vectors : testing::Test {};
TYPED_TEST_SUITE(sparse_vectors, vector_types);

using doubles = std::vector<double>;
using ints = std::vector<std::int32_t>;
using one = sparse_vector<double>;

TEST(sparse_vector, is_what_the_picture_shows) {
  auto const x = one::from_dense(doubles{1, 0, 2, 0, 0, 3});
  EXPECT_EQ(x.size, 6);
  EXPECT_EQ(x.index, (array<std::int32_t>{0, 2, 5}));
  EXPECT_EQ(x.val, (array<double>{1, 2, 3}));
  EXPECT_EQ(x.bytes(), 3u * 12);
}

TYPED_TEST(sparse_vectors, round_trip_through_dense) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  for (auto const& s : specimens<V, I>())
    for (int const threads : {1, 2, 7}) {
      cpu const w{.threads = threads};
      array<V> const y = s.x.to_dense(w);
      ASSERT_EQ(y.size(), static_cast<std::size_t>(s.x.size)) << s.name;
      auto const back = sparse_vector<V, I>::from_dense(y, w);
      back.validate();
      if (s.name == "zeros")
        EXPECT_EQ(back.index.size(), 0u);
      else
        EXPECT_EQ(back, s.x) << s.name << ", " << threads << " threads";
    }
}

TEST(sparse_vector, from_dense_keeps_nan_and_drops_zeros_of_both_signs) {
  double const nan = std::nan("");
  auto const x = one::from_dense(doubles{0, nan, -0.0, 1});
  EXPECT_EQ(x.index, (array<std::int32_t>{1, 3}));
  EXPECT_TRUE(std::isnan(x.val[0]));
}

TYPED_TEST(sparse_vectors, from_entries_copies_what_is_canonical) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  for (auto const& s : specimens<V, I>())
    for (order const o : {order::canonical_or_fail, order::canonicalise}) {
      auto const x = sparse_vector<V, I>::from_entries(s.x.size, s.x.index, s.x.val, {.order = o});
      EXPECT_EQ(x.size, s.x.size);
      EXPECT_TRUE(same_bits(x.index, s.x.index)) << s.name;
      EXPECT_TRUE(same_bits(x.val, s.x.val)) << s.name;
    }
}

// Rough values, so that another order of additions would show.
TYPED_TEST(sparse_vectors, canonicalise_sorts_and_sums_in_the_order_given) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  std::size_t const n = 50000;
  draws d(11);
  std::vector<I> index(n);
  for (I& i : index)
    i = static_cast<I>(d.next() % 9000);
  auto const val = dense_of<V>(n, 12);
  std::vector<V> sum(10000);
  std::vector<bool> there(10000);
  for (std::size_t k = 0; k < n; ++k) {
    auto const i = static_cast<std::size_t>(index[k]);
    sum[i] = there[i] ? sum[i] + val[k] : val[k];
    there[i] = true;
  }
  for (int const threads : {1, 2, 7}) {
    auto const x = sparse_vector<V, I>::from_entries(
        10000, index, val, {.order = order::canonicalise}, cpu{.threads = threads});
    x.validate();
    std::size_t k = 0;
    for (std::size_t i = 0; i < there.size(); ++i)
      if (there[i]) {
        ASSERT_LT(k, x.index.size());
        ASSERT_EQ(x.index[k], static_cast<I>(i));
        ASSERT_EQ(x.val[k++], sum[i]);
      }
    EXPECT_EQ(k, x.index.size());
  }
}

TEST(sparse_vector, refuses_places_outside_and_out_of_order) {
  doubles val{1, 2, 3};
  struct {
    ints index;
    std::vector<std::string> words;
  } const cases[] = {
      {{0, 2, 6}, {"sparse_vector: index[2] is 6", "[0, 6)"}},
      {{-1, 2, 5}, {"index[0] is -1", "[0, 6)"}},
      {{0, 4, 3}, {"index[2] is 3 after 4"}},
      {{2, 2, 5}, {"index[1] is 2 after 2"}},
  };
  for (auto const& c : cases) {
    EXPECT_TRUE(fails_with(errc::bad_structure, c.words,
                           [&] { sparse_vector_view<double>(6, c.index, val); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, c.words,
                           [&] { mutable_sparse_vector_view<double>(6, c.index, val); }));
    EXPECT_TRUE(
        fails_with(errc::bad_structure, c.words, [&] { one::from_entries(6, c.index, val); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, c.words, [&] {
      one(6, array<std::int32_t>(c.index.data(), 3), array<double>(val.data(), 3));
    }));
    one broken(unchecked, 6, array<std::int32_t>(c.index.data(), 3), array<double>(3, 1.0));
    EXPECT_TRUE(fails_with(errc::bad_structure, c.words, [&] { broken.validate(); }));
  }
  EXPECT_TRUE(fails_with(errc::bad_structure, {"index[2] is 6"}, [&] {
    one::from_entries(6, ints{0, 2, 6}, val, {.order = order::canonicalise});
  }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"size is -3"},
                         [&] { sparse_vector_view<double>(-3, ints{}, doubles{}); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"2 indices", "3 values"}, [&] {
    one::from_entries(6, ints{0, 1}, val);
  }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"index is null", "3"}, [&] {
    sparse_vector_view<double>(unchecked, 6, 3, nullptr, val.data()).validate();
  }));
}

// The first error by position, whoever finds it.
TEST(sparse_vector, names_the_first_of_several_errors) {
  ints index(1 << 20);
  for (std::size_t k = 0; k < index.size(); ++k)
    index[k] = static_cast<std::int32_t>(k);
  index[700000] = 5;
  index[900000] = -7;
  doubles const val(index.size(), 1);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"index[700000] is 5 after 699999"},
                         [&] { one::from_entries(1 << 20, index, val, {}, cpu{.threads = 4}); }));
}

TEST(sparse_vector, refuses_sizes_that_an_index_does_not_count) {
  using tiny = sparse_vector<double, std::int8_t>;
  std::vector<std::int8_t> const index(128, 1);
  doubles const val(128, 1);
  EXPECT_TRUE(fails_with(errc::overflow, {"128", "8-bit"}, [&] {
    tiny::from_entries(100, index, val, {.order = order::canonicalise});
  }));
  EXPECT_TRUE(fails_with(errc::overflow, {"128", "8-bit"}, [&] { tiny::from_dense(val); }));
  auto const full = tiny::from_dense(doubles(127, 2));
  EXPECT_EQ(full.index.back(), 126);
  EXPECT_EQ(full.to_dense(), array<double>(127, 2.0));
}

TEST(sparse_vector, leaves_nothing_behind_where_memory_fails) {
  auto const x = sparse_of<double, std::int32_t>(1000, 3, 1);
  auto const y = x.to_dense();
  ints const backwards(x.index.end() - 1000, x.index.end());
  for (int what = 0; what < 4; ++what)
    for (std::size_t k = 1;; ++k) {
      failing_memory memory(k);
      cpu const w{.threads = 2, .memory = &memory};
      try {
        if (what == 0)
          one::from_dense(y, w);
        else if (what == 1)
          one::from_entries(x.size, x.index, x.val, {}, w);
        else if (what == 2)
          one::from_entries(x.size, x.index, x.val, {.order = order::canonicalise}, w);
        else
          x.to_dense(w);
        EXPECT_GT(k, 1u);
        break;
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::out_of_memory);
        EXPECT_EQ(memory.outstanding(), 0u) << what << ", failure " << k;
      }
    }
}

TEST(sparse_vector, compares_by_value) {
  one const a(6, {0, 2}, {1, 2});
  EXPECT_EQ(a, one(6, {0, 2}, {1, 2}));
  EXPECT_NE(a, one(7, {0, 2}, {1, 2}));
  EXPECT_NE(a, one(6, {0, 3}, {1, 2}));
  EXPECT_NE(a, one(6, {0, 2}, {1, 3}));
}

} // namespace
} // namespace tulle::test::sparse_vector_test
