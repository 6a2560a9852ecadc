// SPDX-License-Identifier: Apache-2.0

// Sparse plus sparse, by every method.
#include "tulle/op/level1.hpp"

#include "op/add_row.hpp"
#include "op/vectors.hpp"
#include "support/memory.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tulle::test::level1_add_test {
namespace {

template <class T>
struct level1_add_of : testing::Test {};
TYPED_TEST_SUITE(level1_add_of, vector_types);

constexpr add_method methods[] = {add_method::automatic, add_method::spa, add_method::heap,
                                  add_method::esc, add_method::merge};

template <class V, class I>
testing::AssertionResult same_vector(sparse_vector<V, I> const& a, sparse_vector<V, I> const& b) {
  if (a.size != b.size || !same_bits(a.index, b.index))
    return testing::AssertionFailure()
           << "other places: " << a.index.size() << " entries and " << b.index.size();
  if (!same_bits(a.val, b.val))
    return testing::AssertionFailure() << "other values";
  return testing::AssertionSuccess();
}

template <class V, class I>
std::vector<std::pair<sparse_vector<V, I>, sparse_vector<V, I>>> pairs() {
  std::vector<std::pair<sparse_vector<V, I>, sparse_vector<V, I>>> all;
  auto const put = [&](sparse_vector<V, I> x, sparse_vector<V, I> y) {
    x.size = y.size = std::max(x.size, y.size);
    all.emplace_back(std::move(x), std::move(y));
  };
  for (std::size_t const nx : {0, 1, 2, 31, 32, 33, 511, 2000})
    for (std::size_t const ny : {0, 1, 5, 64, 2000})
      for (std::size_t const gap : {1, 3})
        put(sparse_of<V, I>(nx, gap, nx + 1), sparse_of<V, I>(ny, 2, ny + 2));
  put({}, {});
  auto const x = sparse_of<V, I>(300, 4, 7);
  put(x, x); // one pattern
  put(sparse_vector<V, I>(200, {0, 199}, {V(1), V(2)}), sparse_vector<V, I>(200, {}, {}));
  put(sparse_vector<V, I>(64, {63}, {V(1)}), sparse_vector<V, I>(65, {64}, {V(2)}));
  put(sparse_vector<V, I>(10, {1, 2}, {V(0), V(1)}),
      sparse_vector<V, I>(10, {2, 3}, {V(-1), V(0)}));
  return all;
}

TYPED_TEST(level1_add_of, all_methods_have_the_bits_of_the_reference) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  V const alpha = make<V>(1.7, -.3), beta = make<V>(-.6, .9);
  for (auto const& [x, y] : pairs<V, I>())
    for (V const a : {alpha, V(0)})
      for (V const b : {beta, V(1), V(0)}) {
        auto const expected = add(reference{}, a, x, b, y);
        for (add_method const m : methods)
          EXPECT_TRUE(same_vector(add(cpu{}, a, x, b, y, {.method = m}), expected))
              << name(m) << ", " << x.val.size() << " + " << y.val.size() << " of " << x.size;
      }
}

TYPED_TEST(level1_add_of, the_reference_has_the_union_and_its_sums) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  V const alpha = make<V>(2, 1), beta = make<V>(-3);
  for (auto const& [x, y] : pairs<V, I>()) {
    std::map<I, V> sum;
    for (std::size_t k = 0; k < x.val.size(); ++k)
      sum[x.index[k]] = alpha * x.val[k];
    for (std::size_t k = 0; k < y.val.size(); ++k) {
      auto const [at, fresh] = sum.try_emplace(y.index[k], beta * y.val[k]);
      if (!fresh)
        at->second += beta * y.val[k];
    }
    auto const z = add(reference{}, alpha, x, beta, y);
    z.validate();
    ASSERT_EQ(z.index.size(), sum.size());
    std::size_t k = 0;
    for (auto const& [i, v] : sum) {
      EXPECT_EQ(z.index[k], i);
      EXPECT_EQ(z.val[k++], v);
    }
  }
}

// Shares of threads begin in runs that both have, that one has, that neither has.
TEST(level1_add, merging_gives_the_same_for_all_threads) {
  for (std::size_t const gap : {1, 2, 50}) {
    auto x = sparse_of<double, std::int32_t>(120000, gap, 1);
    auto y = sparse_of<double, std::int32_t>(90000, 3, 2);
    x.size = y.size = std::max(x.size, y.size);
    auto const expected = add(reference{}, 1.5, x, -2.5, y);
    for (int const threads : {1, 2, 7, 13})
      for (add_method const m : {add_method::automatic, add_method::merge})
        EXPECT_TRUE(
            same_vector(add(cpu{.threads = threads}, 1.5, x, -2.5, y, {.method = m}), expected))
            << threads << " threads, gap " << gap;
    EXPECT_TRUE(
        same_vector(add(cpu{.threads = 7}, 1.0, x, 1.0, x), add(reference{}, 1.0, x, 1.0, x)));
  }
}

TEST(level1_add, a_factor_of_zero_reads_no_value_and_keeps_the_places) {
  double const nan = std::nan("");
  sparse_vector<double> const x(6, {0, 2, 5}, {nan, nan, nan});
  sparse_vector<double> const y(6, {2, 3}, {7, 8});
  for (add_method const m : methods) {
    auto const z = add(0.0, x, 1.0, y, {.method = m});
    EXPECT_EQ(z.index, (array<std::int32_t>{0, 2, 3, 5})) << name(m);
    EXPECT_EQ(z.val, (array<double>{0, 7, 8, 0})) << name(m);
    auto const u = add(1.0, y, 0.0, x, {.method = m});
    EXPECT_EQ(u.val, (array<double>{0, 7, 8, 0})) << name(m);
    // No memory of values at all.
    sparse_vector<double> const none(6, {0, 2, 5}, {1, 1, 1});
    auto const v = add(-0.0, none, -0.0, none, {.method = m});
    EXPECT_TRUE(same_bits(v.val, array<double>{0, 0, 0})) << name(m);
  }
}

TEST(level1_add, keeps_nan_inf_and_sums_that_vanish) {
  double const nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  sparse_vector<double> const x(9, {0, 2, 5, 7, 8}, {nan, inf, 3, -0.0, inf});
  sparse_vector<double> const y(9, {2, 3, 5, 8}, {1, nan, 3, inf});
  for (add_method const m : methods) {
    auto const z = add(1.0, x, -1.0, y, {.method = m});
    ASSERT_EQ(z.index, (array<std::int32_t>{0, 2, 3, 5, 7, 8})) << name(m);
    EXPECT_TRUE(std::isnan(z.val[0]));
    EXPECT_EQ(z.val[1], inf);
    EXPECT_TRUE(std::isnan(z.val[2]));
    EXPECT_EQ(z.val[3], 0);
    EXPECT_TRUE(z.val[4] == 0 && std::signbit(z.val[4])) << name(m);
    EXPECT_TRUE(std::isnan(z.val[5]));
  }
}

// The scratch serves row after row, in the shape that matrices use.
TYPED_TEST(level1_add_of, one_scratch_serves_many_rows) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  std::size_t const most = 4000;
  std::size_t cols = 0;
  auto const all = pairs<V, I>();
  for (auto const& p : all)
    cols = std::max(cols, static_cast<std::size_t>(p.first.size));
  for (add_method const m : methods) {
    array<std::byte> room(detail::add_scratch_bytes<V, I>(m, most, cols));
    detail::add_scratch const scratch{room.data(), cols};
    detail::clear_add_scratch(m, scratch);
    array<I> index(most);
    array<V> val(most);
    for (auto const& [x, y] : all) {
      std::size_t const n = detail::add_row<V, I>(
          m, {x.index.data(), x.val.data(), x.val.size(), V(2)},
          {y.index.data(), y.val.data(), y.val.size(), V(3)}, index.data(), val.data(), scratch);
      sparse_vector<V, I> const z(x.size, array<I>(index.data(), n), array<V>(val.data(), n));
      EXPECT_TRUE(same_vector(z, add(reference{}, V(2), x, V(3), y))) << name(m);
    }
  }
}

TEST(level1_add, refuses_other_sizes_and_a_workspace_beyond_the_limit) {
  sparse_vector<double> const x(6, {0}, {1}), y(7, {0}, {1});
  EXPECT_TRUE(
      fails_with(errc::shape_mismatch, {"add", "size 6", "size 7"}, [&] { add(1.0, x, 1.0, y); }));
  for (add_method const m : {add_method::spa, add_method::heap}) {
    std::size_t const bytes = detail::add_scratch_bytes<double, std::int32_t>(m, 2, 6);
    ASSERT_GT(bytes, 0u);
    auto const with = [&](std::size_t limit) {
      return add(cpu{.workspace_limit = limit}, 1.0, x, 1.0, x, {.method = m});
    };
    EXPECT_TRUE(fails_with(errc::out_of_memory,
                           {"add", std::to_string(bytes), std::to_string(bytes - 1)},
                           [&] { with(bytes - 1); }));
    EXPECT_EQ(with(bytes).val, (array<double>{2}));
  }
}

TEST(level1_add, an_accumulator_beyond_64_bits_is_refused_before_work) {
  std::int64_t const size = std::numeric_limits<std::int64_t>::max();
  sparse_vector<double, std::int64_t> const x(size, {0, size - 1}, {1, 2});
  EXPECT_TRUE(fails_with(errc::overflow, {"add", std::to_string(size)},
                         [&] { add(1.0, x, 1.0, x, {.method = add_method::spa}); }));
  for (add_method const m : {add_method::heap, add_method::esc, add_method::merge}) {
    auto const z = add(1.0, x, 1.0, x, {.method = m});
    EXPECT_EQ(z.index, x.index) << name(m);
    EXPECT_EQ(z.val, (array<double>{2, 4})) << name(m);
  }
}

TEST(level1_add, leaves_nothing_behind_where_memory_fails) {
  auto x = sparse_of<double, std::int32_t>(1000, 3, 1);
  auto y = sparse_of<double, std::int32_t>(800, 4, 2);
  x.size = y.size = std::max(x.size, y.size);
  for (add_method const m : methods)
    for (std::size_t k = 1;; ++k) {
      failing_memory memory(k);
      try {
        add(cpu{.threads = 2, .memory = &memory}, 1.0, x, 1.0, y, {.method = m});
        EXPECT_GT(k, 3u);
        break;
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::out_of_memory);
        EXPECT_EQ(memory.outstanding(), 0u) << name(m) << ", failure " << k;
      }
    }
}

} // namespace
} // namespace tulle::test::level1_add_test
