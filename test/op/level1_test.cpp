// SPDX-License-Identifier: Apache-2.0

// Sparse vectors beside dense ones: every operation against the reference, with the same bits for
// every number of threads.
#include "tulle/op/level1.hpp"

#include "op/vectors.hpp"

#include <cmath>
#include <functional>
#include <limits>

namespace tulle::test::level1_test {
namespace {

template <class T>
struct level1_of : testing::Test {};
TYPED_TEST_SUITE(level1_of, vector_types);

using wide = std::complex<long double>;
template <class V>
wide widen(V v) {
  return wide(std::real(v), std::imag(v));
}

std::vector<where> places() {
  return {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 2}),
          where(cpu{.threads = 7})};
}

// f(where, x, y) on the reference and on one, two, seven threads, from the same x and y each time:
// the same bits in x's values and in y.
template <class V, class I, class F>
void expect_all_alike(sparse_vector<V, I> const& x, std::vector<V> const& y, F&& f,
                      std::string const& name) {
  sparse_vector<V, I> expected_x = x;
  std::vector<V> expected_y = y;
  f(where(reference{}), expected_x, expected_y);
  for (int const threads : {1, 2, 7}) {
    sparse_vector<V, I> got_x = x;
    std::vector<V> got_y = y;
    f(where(cpu{.threads = threads}), got_x, got_y);
    EXPECT_TRUE(same_bits(got_x.val, expected_x.val)) << name << ", " << threads << " threads";
    EXPECT_TRUE(same_bits(got_x.index, x.index)) << name;
    EXPECT_TRUE(same_bits(got_y, expected_y)) << name << ", " << threads << " threads";
  }
}

TYPED_TEST(level1_of, what_changes_vectors_does_as_the_reference) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  using X = sparse_vector<V, I>;
  using Y = std::vector<V>;
  V const alpha = make<V>(1.7, -.3), beta = make<V>(-.6, .9);
  std::vector<std::pair<std::string, std::function<void(where const&, X&, Y&)>>> const operations{
      {"axpy", [=](where const& w, X& x, Y& y) { axpy(w, alpha, x, y); }},
      {"axpy, alpha 0", [=](where const& w, X& x, Y& y) { axpy(w, V(0), x, y); }},
      {"gather", [=](where const& w, X& x, Y& y) { gather(w, y, x); }},
      {"gather_zero", [=](where const& w, X& x, Y& y) { gather_zero(w, y, x); }},
      {"scatter", [=](where const& w, X& x, Y& y) { scatter(w, x, y); }},
      {"rotate",
       [=](where const& w, X& x, Y& y) { rotate(w, x, y, real_t<V>(.6), real_t<V>(.8)); }},
      {"add", [=](where const& w, X& x, Y& y) { add(w, alpha, x, beta, y); }},
      {"add, alpha 0", [=](where const& w, X& x, Y& y) { add(w, V(0), x, beta, y); }},
      {"add, beta 0", [=](where const& w, X& x, Y& y) { add(w, alpha, x, V(0), y); }},
      {"add, beta 1", [=](where const& w, X& x, Y& y) { add(w, alpha, x, V(1), y); }},
      {"add, both 0", [=](where const& w, X& x, Y& y) { add(w, V(0), x, V(0), y); }},
  };
  for (auto const& s : specimens<V, I>()) {
    auto const y = dense_of<V>(static_cast<std::size_t>(s.x.size), 5);
    for (auto const& [name, f] : operations)
      expect_all_alike(s.x, y, f, name + ", " + s.name);
  }
}

// A y that no cache is taken to hold is asked for early, the last entries excepted.
TEST(level1, a_long_dense_vector_changes_as_by_the_reference) {
  std::int32_t const size = (1 << 21) + 100;
  auto const y = dense_of<double>(static_cast<std::size_t>(size), 5);
  for (std::size_t const n : {0, 1, 31, 32, 33, 65, 100000}) {
    auto const x = widened(sparse_of<double, std::int32_t>(n, 20, n), size);
    using X = sparse_vector<double>;
    using Y = std::vector<double>;
    auto const all = [](where const& w, X& v, Y& d) {
      axpy(w, 1.7, v, d);
      rotate(w, v, d, .6, .8);
      scatter(w, v, d);
      gather_zero(w, d, v);
      add(w, .3, v, .7, d);
      gather(w, d, v);
    };
    expect_all_alike(x, y, all, std::to_string(n) + " entries");
    EXPECT_EQ(dot(cpu{.threads = 7}, x, y), dot(cpu{.threads = 1}, x, y));
    EXPECT_NEAR(dot(x, y), dot(reference{}, x, y), 1e-8);
  }
}

// Paper and pencil.
TYPED_TEST(level1_of, the_reference_is_right) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  sparse_vector<V, I> const x(5, {1, 3}, {V(2), V(-3)});
  std::vector<V> const y{V(1), V(10), V(100), V(1000), V(10000)};
  for (where const& w : places()) {
    EXPECT_EQ(dot(w, x, y), V(20 - 3000));
    auto z = y;
    axpy(w, V(2), x, z);
    EXPECT_EQ(z, (std::vector<V>{V(1), V(14), V(100), V(994), V(10000)}));
    auto g = x;
    gather(w, y, g);
    EXPECT_EQ(g.val, (array<V>{V(10), V(1000)}));
    z = y;
    gather_zero(w, z, g);
    EXPECT_EQ(g.val, (array<V>{V(10), V(1000)}));
    EXPECT_EQ(z, (std::vector<V>{V(1), V(0), V(100), V(0), V(10000)}));
    z = y;
    scatter(w, x, z);
    EXPECT_EQ(z, (std::vector<V>{V(1), V(2), V(100), V(-3), V(10000)}));
    z = y;
    g = x;
    rotate(w, g, z, 2, 3);
    EXPECT_EQ(g.val, (array<V>{V(34), V(2994)}));
    EXPECT_EQ(z, (std::vector<V>{V(1), V(14), V(100), V(2009), V(10000)}));
    z = y;
    add(w, V(2), x, V(3), z);
    EXPECT_EQ(z, (std::vector<V>{V(3), V(34), V(300), V(2994), V(30000)}));
    EXPECT_EQ(norm1(w, x), 5);
    EXPECT_EQ(norm_inf(w, x), 3);
    EXPECT_NEAR(norm2(w, x), std::sqrt(13.0), 1e-6);
  }
}

TYPED_TEST(level1_of, dot_is_within_rounding_and_the_same_for_all_threads) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  for (bool const integers : {true, false})
    for (auto const& s : specimens<V, I>(integers)) {
      auto const y = dense_of<V>(static_cast<std::size_t>(s.x.size), 6, integers);
      for (bool const conjugate : {false, true}) {
        wide sum = 0;
        long double size = 0;
        for (std::size_t k = 0; k < s.x.val.size(); ++k) {
          wide const a = widen(s.x.val[k]), b = widen(y[static_cast<std::size_t>(s.x.index[k])]);
          sum += (conjugate ? std::conj(a) : a) * b;
          size += std::abs(a) * std::abs(b);
        }
        long double const eps = std::numeric_limits<real_t<V>>::epsilon();
        long double const bound =
            integers ? 0 : eps * size * static_cast<long double>(s.x.val.size());
        V const first = dot(cpu{.threads = 1}, s.x, y, {.conjugate = conjugate});
        for (where const& w : places()) {
          V const got = dot(w, s.x, y, {.conjugate = conjugate});
          EXPECT_LE(std::abs(widen(got) - sum), bound) << s.name << ", " << name(w.backend);
          if (w.backend == backend::cpu) {
            EXPECT_EQ(got, first) << s.name << ", " << w.threads << " threads";
          }
        }
      }
    }
}

// More entries than all chunks of the least size hold.
TEST(level1, sums_of_long_vectors_have_the_same_bits_for_all_threads) {
  auto const x = sparse_of<double, std::int32_t>(256 * 4096 + 77, 3, 3);
  auto const y = dense_of<double>(static_cast<std::size_t>(x.size), 4);
  auto const z = sparse_vector<double>::from_dense(y);
  cpu const one{.threads = 1};
  for (int const threads : {2, 7, 64}) {
    cpu const w{.threads = threads};
    EXPECT_EQ(dot(w, x, y), dot(one, x, y));
    EXPECT_EQ(dot(w, x, z), dot(one, x, z));
    EXPECT_EQ(norm1(w, x), norm1(one, x));
    EXPECT_EQ(norm2(w, x), norm2(one, x));
  }
}

TYPED_TEST(level1_of, dot_of_two_sparse_vectors_is_that_with_one_made_dense) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  // Lengths alike are merged, lengths far apart searched.
  for (std::size_t const nx : {0, 1, 2, 500, 5000, 40000})
    for (std::size_t const ny : {0, 1, 3, 499, 5000, 70000}) {
      auto x = sparse_of<V, I>(nx, nx < 1000 ? 40 : 3, nx + 1, true);
      auto y = sparse_of<V, I>(ny, ny < 1000 ? 40 : 2, ny + 2, true);
      x.size = y.size = std::max(x.size, y.size);
      auto const dense = y.to_dense();
      for (bool const conjugate : {false, true})
        for (where const& w : places())
          EXPECT_EQ(dot(w, x, y, {.conjugate = conjugate}),
                    dot(reference{}, x, dense, {.conjugate = conjugate}))
              << nx << ", " << ny << ", " << w.threads << " threads";
    }
}

TEST(level1, a_dot_finds_what_lies_at_the_ends) {
  sparse_vector<double> const few(100000, {0, 50000, 99999}, {1, 10, 100});
  auto const all = sparse_vector<double>::from_dense(std::vector<double>(100000, 2.0));
  EXPECT_EQ(dot(few, all), 222);
  EXPECT_EQ(dot(all, few), 222);
  sparse_vector<double> const other(100000, {1, 49999, 50001, 99998}, {1, 1, 1, 1});
  EXPECT_EQ(dot(few, other), 0);
}

TEST(level1, conjugation_is_that_of_the_first) {
  using c = std::complex<double>;
  sparse_vector<c> const x(3, {1}, {c(1, 2)});
  std::vector<c> const y{c(9, 9), c(3, 4), c(9, 9)};
  auto const z = sparse_vector<c>::from_dense(y);
  for (where const& w : places()) {
    EXPECT_EQ(dot(w, x, y), c(-5, 10));
    EXPECT_EQ(dot(w, x, y, {.conjugate = true}), c(11, -2));
    EXPECT_EQ(dot(w, x, z, {.conjugate = true}), c(11, -2));
    EXPECT_EQ(dot(w, z, x, {.conjugate = true}), c(11, 2));
  }
}

TEST(level1, nan_and_inf_travel_through_stored_places_alone) {
  double const nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  sparse_vector<double> const x(4, {1, 2}, {1, 0});
  for (where const& w : places()) {
    std::vector<double> y{nan, 1, 2, inf};
    EXPECT_EQ(dot(w, x, y), 1);
    axpy(w, 2.0, x, y);
    EXPECT_EQ(y[1], 3);
    EXPECT_EQ(y[2], 2);
    EXPECT_TRUE(std::isnan(y[0]));
    y[2] = inf;
    EXPECT_TRUE(std::isnan(dot(w, x, y))) << "0 times Inf, and 0 is stored";
    sparse_vector<double> const bad(4, {0, 3}, {nan, inf});
    EXPECT_EQ(dot(w, x, bad), 0);
    y = {1, 2, 3, 4};
    axpy(w, 0.0, bad, y);
    add(w, 0.0, bad, 1.0, y);
    EXPECT_EQ(y, (std::vector<double>{1, 2, 3, 4}));
    y = {nan, inf, nan, inf};
    add(w, 2.0, x, 0.0, y);
    EXPECT_EQ(y, (std::vector<double>{0, 2, 0, 0}));
  }
}

TYPED_TEST(level1_of, norms_are_within_rounding) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  using R = real_t<V>;
  for (auto const& s : specimens<V, I>()) {
    long double one = 0, two = 0, most = 0;
    for (V const v : s.x.val) {
      long double const a = std::abs(widen(v));
      one += a;
      two += a * a;
      most = std::max(most, a);
    }
    two = std::sqrt(two);
    auto const n = static_cast<long double>(s.x.val.size() + 4);
    long double const eps = std::numeric_limits<R>::epsilon();
    for (where const& w : places()) {
      EXPECT_LE(std::abs(norm1(w, s.x) - one), eps * n * one) << s.name;
      EXPECT_LE(std::abs(norm2(w, s.x) - two), eps * n * two) << s.name;
      EXPECT_LE(std::abs(norm_inf(w, s.x) - most), 2 * eps * most) << s.name;
      if (w.backend == backend::cpu) {
        EXPECT_EQ(norm1(w, s.x), norm1(cpu{.threads = 1}, s.x)) << s.name;
        EXPECT_EQ(norm2(w, s.x), norm2(cpu{.threads = 1}, s.x)) << s.name;
      }
    }
  }
}

TYPED_TEST(level1_of, norm2_neither_overflows_nor_underflows) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  using R = real_t<V>;
  using limits = std::numeric_limits<R>;
  for (R const scale : {limits::max() / 8, limits::min() * 4, limits::denorm_min() * 8, R(1)}) {
    sparse_vector<V, I> const x(9, {1, 5}, {V(3 * scale), V(-4 * scale)});
    sparse_vector<V, I> const mixed(9, {0, 1, 5}, {V(limits::min()), V(3 * scale), V(4 * scale)});
    for (where const& w : places()) {
      EXPECT_EQ(norm2(w, x), 5 * scale) << scale;
      EXPECT_EQ(norm_inf(w, x), 4 * scale) << scale;
      EXPECT_EQ(norm1(w, x), 7 * scale) << scale;
      EXPECT_GE(norm2(w, mixed), 5 * scale) << scale;
    }
  }
}

TYPED_TEST(level1_of, norms_of_nan_are_nan_and_those_of_inf_are_inf) {
  using V = typename TypeParam::V;
  using I = typename TypeParam::I;
  using limits = std::numeric_limits<real_t<V>>;
  auto const inf = static_cast<double>(limits::infinity());
  auto x = sparse_of<V, I>(40000, 2, 8);
  for (std::size_t const at : {0, 20000, 39999})
    for (where const& w : places()) {
      auto y = x;
      y.val[at] = make<V>(-inf, 1);
      EXPECT_EQ(norm1(w, y), limits::infinity());
      EXPECT_EQ(norm2(w, y), limits::infinity());
      EXPECT_EQ(norm_inf(w, y), limits::infinity());
      y.val[10] = make<V>(is_complex<V> ? inf : std::nan(""), std::nan(""));
      EXPECT_TRUE(std::isnan(norm1(w, y)));
      EXPECT_TRUE(std::isnan(norm2(w, y)));
      EXPECT_TRUE(std::isnan(norm_inf(w, y)));
    }
}

TEST(level1, operands_may_be_views_of_the_callers_arrays) {
  std::vector<std::int64_t> const index{1, 3};
  std::vector<float> val{2, 4};
  std::vector<float> y{1, 1, 1, 1};
  sparse_vector_view<float, std::int64_t> const x(4, index, val);
  EXPECT_EQ(dot(x, y), 6);
  axpy(1, x, y);
  EXPECT_EQ(y, (std::vector<float>{1, 3, 1, 5}));
  gather(y, mutable_sparse_vector_view<float, std::int64_t>(4, index, val));
  EXPECT_EQ(val, (std::vector<float>{3, 5}));
  EXPECT_EQ(dot(x, mutable_sparse_vector_view<float, std::int64_t>(4, index, val)), 34);
  EXPECT_EQ(norm1(x), 8);
}

} // namespace
} // namespace tulle::test::level1_test
