// SPDX-License-Identifier: Apache-2.0

// Norms against dense loops and the reference.
#include "tulle/format/csc.hpp"
#include "tulle/op/norm.hpp"

#include "op/sized.hpp"
#include "support/expect.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::norm_test {
namespace {

constexpr norm_kind kinds[] = {norm_kind::one, norm_kind::inf, norm_kind::frobenius,
                               norm_kind::max};

// Unsorted, (0, 0) twice: 5 -2 . / -3 . 4
csr<double> small() {
  return {2, 3, {0, 3, 5}, {1, 0, 0, 2, 0}, {-2, 2, 3, 4, -3}};
}

TEST(norm, of_the_reference_is_as_on_paper) {
  reference const w;
  EXPECT_EQ(norm(w, small(), norm_kind::one), 8);
  EXPECT_EQ(norm(w, small(), norm_kind::inf), 7);
  EXPECT_EQ(norm(w, small(), norm_kind::max), 5);
  EXPECT_DOUBLE_EQ(norm(w, small(), norm_kind::frobenius), std::sqrt(54.0));
}

class norms : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, norms, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

template <class V, class I, class O>
void expect_norms(csr<V, I, O> const& a, std::string const& what) {
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
  std::vector<V> const d = dense_form(a);
  std::vector<long double> row(rows, 0), column(cols, 0);
  long double squares = 0, most = 0;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j) {
      auto const v = static_cast<long double>(std::abs(d[i * cols + j]));
      row[i] += v;
      column[j] += v;
      squares += v * v;
      most = std::max(most, v);
    }
  auto const largest = [](std::vector<long double> const& v) {
    return v.empty() ? 0 : *std::max_element(v.begin(), v.end());
  };
  long double const expected[] = {largest(column), largest(row), std::sqrt(squares), most};
  for (norm_kind const kind : kinds) {
    long double const one = expected[static_cast<int>(kind)];
    for (where const& w : {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 7})})
      EXPECT_NEAR(norm(w, a, kind), one,
                  one * 100 * static_cast<long double>(std::numeric_limits<real_t<V>>::epsilon()))
          << what << " " << static_cast<int>(kind);
  }
}

TEST_P(norms, of_matrices_of_all_sizes) {
  each_sized([&](csr<double> const& a, std::string const& what) {
    with_type(a, static_cast<type_tag>(GetParam()),
              [&](auto const& typed) { expect_norms(typed, what); });
  });
}

TEST(norm, has_the_same_bits_for_every_number_of_threads_and_every_twin) {
  csr<double> const a = rough(elephant());
  for (norm_kind const kind : kinds) {
    double const expected = norm(cpu{.threads = 1}, a, kind);
    for (int const threads : {2, 3, 64})
      EXPECT_EQ(norm(cpu{.threads = threads}, a, kind), expected);
    EXPECT_EQ(norm(unsorted(a), kind), expected);
    EXPECT_EQ(norm(csc<double>::from_csr(a.view()), kind), expected);
  }
}

TEST(norm, does_not_overflow_on_the_way) {
  double const big = 1e300;
  csr<double> const a(2, 2, {0, 2, 3}, {0, 1, 1}, {3 * big, 4 * big, 0});
  csr<double> const b(1, 2, {0, 2}, {0, 1}, {3e-300, 4e-300});
  csr<float> const c(1, 2, {0, 2}, {0, 1}, {3e30f, 4e30f});
  for (where const& w : {where(cpu{}), where(reference{})}) {
    EXPECT_DOUBLE_EQ(norm(w, a, norm_kind::frobenius), 5e300);
    EXPECT_DOUBLE_EQ(norm(w, b, norm_kind::frobenius), 5e-300);
    EXPECT_FLOAT_EQ(norm(w, c, norm_kind::frobenius), 5e30f);
  }
}

TEST(norm, is_nan_where_an_entry_is) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  double const inf = std::numeric_limits<double>::infinity();
  for (std::size_t const at : {0u, 2u, 4u})
    for (where const& w : {where(cpu{}), where(reference{})})
      for (norm_kind const kind : kinds) {
        csr<double> a = small();
        a.val[at] = nan;
        a.val[1] = inf;
        EXPECT_TRUE(std::isnan(norm(w, a, kind))) << at << " " << static_cast<int>(kind);
      }
}

TEST(norm, refuses_what_is_no_matrix) {
  csr<double> a = small();
  where w;
  w.backend = backend::cuda;
  EXPECT_TRUE(fails_with(errc::unsupported, {"norm", "cuda"}, [&] { norm(w, a, norm_kind::max); }));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"norm", "bytes of workspace", "7"},
                         [&] { norm(cpu{.workspace_limit = 7}, a, norm_kind::one); }));
  csr<double> const b = std::move(a);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"norm", "row_ptr", "moved"},
                         [&] { norm(a, norm_kind::one); })); // NOLINT(bugprone-use-after-move)
}

} // namespace
} // namespace tulle::test::norm_test
