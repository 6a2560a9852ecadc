// SPDX-License-Identifier: Apache-2.0

// Dense vectors: against the reference and extended precision, with the same bits for every number
// of threads.
#include "tulle/op/dense_level1.hpp"

#include "op/vectors.hpp"
#include "support/memory.hpp"

#include <cmath>
#include <limits>
#include <span>

namespace tulle::test::dense_level1_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

template <class V>
struct dense_level1_of : testing::Test {};
using value_types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(dense_level1_of, value_types);

static_assert(dense_vector<std::vector<float>> && dense_vector<array<std::complex<double>>> &&
              dense_vector<std::span<double const>> && dense_vector<vector_view<double>>);
static_assert(!dense_vector<std::vector<int>> && !dense_vector<sparse_vector<double>> &&
              !dense_vector<vector_view<double, space::cuda>> && !dense_vector<cpu>);

// Around the lanes of a sum, a block, what a thread is started for, and where chunks get longer.
std::vector<std::size_t> const& lengths() {
  static std::vector<std::size_t> const all{0,    1,     7,      8,       9,       1023,   1024,
                                            1025, 32768, 100001, 1048576, 1048577, 2200000};
  return all;
}

using wide = std::complex<long double>;
template <class V>
wide widen(V v) {
  return wide(std::real(v), std::imag(v));
}

TEST(dense_level1, is_as_on_paper) {
  std::vector<double> const x{1, -2, 3};
  std::vector<double> y{4, 5, 6};
  using C = std::complex<double>;
  std::vector<C> const u{C(1, 2), C(0, 1)}, v{C(3, 0), C(0, 4)};
  for (where const& w : {where(reference{}), where(cpu{})}) {
    EXPECT_EQ(dot(w, x, y), 12);
    EXPECT_EQ(norm1(w, x), 6);
    EXPECT_EQ(norm_inf(w, x), 3);
    EXPECT_EQ(norm2(w, std::vector<double>{3, -4}), 5);
    EXPECT_EQ(dot(w, u, v), C(-1, 6));
    EXPECT_EQ(dot(w, u, v, {.conjugate = true}), C(7, -6)); // conj(u) . v
    EXPECT_EQ(dotc(w, u, v), C(7, -6));
    EXPECT_EQ(norm2(w, std::vector<C>{C(3, 4), C(0, 12)}), 13);
    EXPECT_EQ(norm1(w, std::vector<C>{C(3, 4), C(0, 12)}), 17);
  }
  EXPECT_EQ(dot(x, x), 14);
  EXPECT_EQ(dotc(u, v), C(7, -6));
  axpy(2.0, x, y);
  EXPECT_EQ(y, (std::vector<double>{6, 1, 12}));
}

TYPED_TEST(dense_level1_of, dot_and_dotc_mean_the_same_of_dense_and_sparse_vectors) {
  using V = TypeParam;
  sparse_vector<V> const sparse(5, {1, 3}, {make<V>(1, 2), make<V>(-3, 1)});
  std::vector<V> dense(5, V(0));
  dense[1] = make<V>(1, 2);
  dense[3] = make<V>(-3, 1);
  std::vector<V> const y{make<V>(9), make<V>(2, -1), make<V>(9), make<V>(0, 4), make<V>(9)};
  for (where const& w : {where(reference{}), where(cpu{})}) {
    V const plain = make<V>(1, 2) * make<V>(2, -1) + make<V>(-3, 1) * make<V>(0, 4);
    V const conjugated = make<V>(1, -2) * make<V>(2, -1) + make<V>(-3, -1) * make<V>(0, 4);
    EXPECT_EQ(dot(w, dense, y), plain);
    EXPECT_EQ(dot(w, sparse, y), plain);
    EXPECT_EQ(dotc(w, dense, y), conjugated);
    EXPECT_EQ(dotc(w, sparse, y), conjugated);
    EXPECT_EQ(dotc(w, sparse, sparse), dotc(w, dense, dense));
    EXPECT_EQ(dot(w, sparse, sparse), dot(w, dense, dense));
  }
  EXPECT_EQ(dot(sparse, y), dot(dense, y));
  EXPECT_EQ(dotc(sparse, y), dotc(dense, y));
}

TYPED_TEST(dense_level1_of, sums_are_right_and_have_the_same_bits_for_every_number_of_threads) {
  using V = TypeParam;
  using R = real_t<V>;
  long double const eps = std::numeric_limits<R>::epsilon();
  for (std::size_t const n : lengths()) {
    std::vector<V> const x = dense_of<V>(n, 1), y = dense_of<V>(n, 2);
    wide plain = 0, conjugated = 0;
    long double size = 0, one = 0, two = 0, most = 0;
    for (std::size_t i = 0; i < n; ++i) {
      wide const a = widen(x[i]), b = widen(y[i]);
      plain += a * b;
      conjugated += std::conj(a) * b;
      size += std::abs(a * b);
      one += std::abs(a);
      two += std::norm(a);
      most = std::max(most, std::abs(a));
    }
    cpu const first{.threads = 1};
    V const d = dotc(first, x, y), u = dot(first, x, y);
    R const n1 = norm1(first, x), n2 = norm2(first, x), ni = norm_inf(first, x);
    EXPECT_LE(std::abs(widen(d) - conjugated), 8 * eps * size) << n;
    EXPECT_LE(std::abs(widen(u) - plain), 8 * eps * size) << n;
    EXPECT_LE(std::abs(n1 - one), 8 * eps * one) << n;
    EXPECT_LE(std::abs(n2 - std::sqrt(two)), 8 * eps * std::sqrt(two)) << n;
    EXPECT_LE(std::abs(ni - most), 2 * eps * most) << n;
    for (int const threads : {2, 3, 7, 64}) {
      cpu const w{.threads = threads};
      std::vector<V> const sums{d, u}, again{dotc(w, x, y), dot(w, x, y)};
      EXPECT_TRUE(same_bits(sums, again)) << n << ", " << threads << " threads";
      std::vector<R> const norms{n1, n2, ni}, others{norm1(w, x), norm2(w, x), norm_inf(w, x)};
      EXPECT_TRUE(same_bits(norms, others)) << n << ", " << threads << " threads";
    }
  }
}

TYPED_TEST(dense_level1_of, axpy_has_the_bits_of_the_reference) {
  using V = TypeParam;
  V const alpha = make<V>(1.7, -.3);
  for (std::size_t const n : lengths()) {
    std::vector<V> const x = dense_of<V>(n, 1), y = dense_of<V>(n, 2);
    std::vector<V> expected = y;
    axpy(reference{}, alpha, x, expected);
    EXPECT_EQ(n != 0, !same_bits(expected, y));
    for (int const threads : {1, 2, 7}) {
      std::vector<V> got = y;
      axpy(cpu{.threads = threads}, alpha, x, got);
      EXPECT_TRUE(same_bits(got, expected)) << n << ", " << threads << " threads";
    }
  }
}

TYPED_TEST(dense_level1_of, axpy_with_alpha_0_does_not_read_x) {
  using V = TypeParam;
  std::vector<V> const x(2000, make<V>(nan, nan)), before = dense_of<V>(2000, 2);
  for (where const& w : {where(reference{}), where(cpu{})}) {
    std::vector<V> y = before;
    axpy(w, V(0), x, y);
    EXPECT_TRUE(same_bits(y, before));
  }
}

TYPED_TEST(dense_level1_of, norms_of_the_largest_and_smallest_numbers_are_right) {
  using V = TypeParam;
  using R = real_t<V>;
  R const tiny = std::numeric_limits<R>::denorm_min(), huge = std::numeric_limits<R>::max() / 4;
  for (R const unit : {huge, tiny, R(1)})
    for (where const& w :
         {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 7})}) {
      std::vector<V> x(3000, V(0));
      x[17] = static_cast<V>(3 * unit);
      x[2900] = static_cast<V>(R(-1) * unit);
      EXPECT_NEAR(norm2(w, x) / unit, std::sqrt(10.0), unit == tiny ? .17 : 1e-6);
      EXPECT_EQ(norm_inf(w, x), 3 * unit);
      x[2900] = V(0);
      EXPECT_EQ(norm2(w, x), 3 * unit);
      EXPECT_EQ(norm1(w, x), 3 * unit);
    }
}

TYPED_TEST(dense_level1_of, norms_keep_nan_and_infinity) {
  using V = TypeParam;
  for (where const& w : {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 7})}) {
    std::vector<V> x(3000, V(1));
    x[5] = make<V>(-inf);
    EXPECT_EQ(norm1(w, x), inf);
    EXPECT_EQ(norm2(w, x), inf);
    EXPECT_EQ(norm_inf(w, x), inf);
    for (std::size_t const at : {4, 6, 2999}) { // before and behind the infinity
      std::vector<V> y = x;
      y[at] = make<V>(nan);
      EXPECT_TRUE(std::isnan(norm1(w, y)) && std::isnan(norm2(w, y)) && std::isnan(norm_inf(w, y)));
    }
  }
}

TEST(dense_level1_refuses, what_does_not_fit) {
  std::vector<double> const x(5, 1);
  std::vector<double> y(6, 2);
  for (where const& w : {where(cpu{}), where(reference{})}) {
    expect_refused(errc::shape_mismatch, {"dot", "x has 5 entries", "y has 6"}, y,
                   [&] { dot(w, x, y); });
    expect_refused(errc::shape_mismatch, {"axpy", "x has 5 entries", "y has 6"}, y,
                   [&] { axpy(w, 2.0, x, y); });
    expect_refused(errc::bad_structure, {"axpy", "x and y overlap"}, y, [&] {
      axpy(w, 2.0, std::span(y).first(4), vector_view<double>(y.data() + 1, 4));
    });
    expect_refused(errc::bad_structure, {"axpy", "x and y overlap"}, y,
                   [&] { axpy(w, 2.0, y, y); });
    vector_view<double> const none(nullptr, 5);
    EXPECT_TRUE(
        fails_with(errc::bad_structure, {"dot", "y is null", "5"}, [&] { dot(w, x, none); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"axpy", "x is null", "5"},
                           [&] { axpy(w, 1.0, none, none); }));
    EXPECT_TRUE(
        fails_with(errc::bad_structure, {"norm1", "x is null", "5"}, [&] { norm1(w, none); }));
    EXPECT_TRUE(
        fails_with(errc::bad_structure, {"norm2", "x is null", "5"}, [&] { norm2(w, none); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"norm_inf", "x is null", "5"},
                           [&] { norm_inf(w, none); }));
  }
  where w;
  w.backend = backend::cuda;
  EXPECT_TRUE(fails_with(errc::unsupported, {"dot", "cuda"}, [&] { dot(w, x, x); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"norm2", "cuda"}, [&] { norm2(w, x); }));
}

TEST(dense_level1, allocates_nothing) {
  if (!counts_global_allocations())
    GTEST_SKIP();
  std::vector<double> const x(300000, 1);
  std::vector<double> y(300000, 2);
  auto const all = [&] {
    cpu const w{.threads = 2};
    axpy(w, 2.0, x, y);
    return dot(w, x, y) + norm1(w, x) + norm2(w, x) + norm_inf(w, x);
  };
  double const first = all(); // threads are started
  std::size_t const before = global_allocations();
  double const second = all();
  EXPECT_EQ(global_allocations(), before);
  EXPECT_LT(first, second);
}

} // namespace
} // namespace tulle::test::dense_level1_test
