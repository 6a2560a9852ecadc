// SPDX-License-Identifier: Apache-2.0

// s A, D A, A D against dense loops and the reference.
#include "tulle/format/csc.hpp"
#include "tulle/op/scale.hpp"

#include "op/sized.hpp"
#include "support/expect.hpp"
#include "support/memory.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::scale_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Unsorted, with a duplicate at (0, 0).
csr<double> small() {
  return {2, 3, {0, 3, 4}, {2, 0, 0, 1}, {1, 2, 3, 4}};
}

TEST(scale, of_the_reference_is_as_on_paper) {
  reference const w;
  csr<double> a = small();
  scale(w, 2.0, a);
  EXPECT_EQ(a.val, (array<double>{2, 4, 6, 8}));
  scale_rows(w, std::vector<double>{10, -1}, a);
  EXPECT_EQ(a.val, (array<double>{20, 40, 60, -8}));
  scale_columns(w, a, std::vector<double>{1, 3, 0.5});
  EXPECT_EQ(a.val, (array<double>{10, 40, 60, -24}));
  EXPECT_EQ(a.col, small().col);
}

class scales : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, scales, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

template <class V, class I, class O>
void expect_scaled(csr<V, I, O> const& a, std::string const& what) {
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
  std::vector<V> const r = integers_of<V>(rows, 3), c = integers_of<V>(cols, 4);
  std::vector<V> by_rows = dense_form(a), by_columns = by_rows;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j) {
      by_rows[i * cols + j] = r[i] * by_rows[i * cols + j];
      by_columns[i * cols + j] = by_columns[i * cols + j] * c[j];
    }
  for (where const& w : {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 7})}) {
    csr<V, I, O> left = a, right = a;
    scale_rows(w, r, left);
    scale_columns(w, right, c);
    EXPECT_EQ(dense_form(left), by_rows) << what;
    EXPECT_EQ(dense_form(right), by_columns) << what;
    EXPECT_EQ(left.col, a.col) << what;
    EXPECT_EQ(scaled_rows(w, r, a), left) << what;
    EXPECT_EQ(scaled_columns(w, a, c), right) << what;
    std::vector<V> values(a.val.size(), V(static_cast<real_t<V>>(nan)));
    scale_rows(w, r, a.view(), values);
    EXPECT_TRUE(same_bits(values, left.val)) << what;
    scale_columns(w, a.view(), c, values);
    EXPECT_TRUE(same_bits(values, right.val)) << what;
    for (double const s : {0.0, 1.0, -1.0, 1.5}) {
      auto const factor = static_cast<V>(static_cast<real_t<V>>(s));
      csr<V, I, O> b = a;
      scale(w, factor, b);
      for (std::size_t k = 0; k < a.val.size(); ++k)
        EXPECT_EQ(b.val[k], factor * a.val[k]) << what;
    }
  }
}

TEST_P(scales, matrices_of_all_sizes) {
  each_sized([&](csr<double> const& a, std::string const& what) {
    with_type(a, static_cast<type_tag>(GetParam()),
              [&](auto const& typed) { expect_scaled(typed, what); });
  });
}

TEST(scale, has_the_same_bits_for_every_number_of_threads) {
  csr<double> const a = rough(elephant());
  auto const r = roughs(static_cast<std::size_t>(a.rows), 1);
  auto const c = roughs(static_cast<std::size_t>(a.cols), 2);
  auto const run = [&](where const& w) {
    csr<double> b = a;
    scale_rows(w, r, b);
    scale_columns(w, b, c);
    scale(w, 0.3, b);
    return b;
  };
  csr<double> const expected = run(reference{});
  for (int const threads : {1, 2, 64})
    EXPECT_TRUE(same_bits(run(cpu{.threads = threads}).val, expected.val)) << threads;
}

TEST(scale, by_zero_reads_no_values) {
  for (where const& w : {where(cpu{}), where(reference{})}) {
    std::vector<double> values(5, nan);
    scale(w, 0.0, values);
    EXPECT_EQ(values, std::vector<double>(5, 0));
    csr<double> a = small();
    a.val[0] = nan;
    scale_rows(w, std::vector<double>{0, 0}, a); // d is data
    EXPECT_TRUE(std::isnan(a.val[0]));
  }
}

TEST(scale, takes_every_format_and_keeps_plans_good) {
  csr<double> const a = small().to_csr();
  std::vector<double> const d{2, 3};
  EXPECT_EQ(scaled_rows(d, csc<double>::from_csr(a.view())), scaled_rows(d, a));
  csr<double> b = a;
  auto const serial = b.view().serial;
  scale_rows(d, b);
  EXPECT_EQ(b.view().serial, serial);
  std::size_t const before = global_allocations();
  scale_rows(cpu{.threads = 1}, d, b);
  if (counts_global_allocations()) {
    EXPECT_EQ(global_allocations(), before);
  }
}

TEST(scale, refuses_what_does_not_fit) {
  csr<double> a = small();
  std::vector<double> const two(2, 1), three(3, 1);
  for (where const& w : {where(cpu{}), where(reference{})}) {
    expect_refused(errc::shape_mismatch, {"scale_rows", "d has 3", "A has 2 rows"}, a.val,
                   [&] { scale_rows(w, three, a); });
    expect_refused(errc::shape_mismatch, {"scale_columns", "d has 2", "A has 3 columns"}, a.val,
                   [&] { scale_columns(w, a, two); });
    expect_refused(errc::bad_structure, {"scale_rows", "overlaps d"}, a.val, [&] {
      scale_rows(w, {a.val.data() + 1, 2}, a);
    });
    EXPECT_TRUE(fails_with(errc::bad_structure, {"scale_rows", "d is null", "2"}, [&] {
      scale_rows(w, {nullptr, 2}, a);
    }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"scale", "null", "3"},
                           [&] { scale(w, 2.0, vector_view<double>(nullptr, 3)); }));
    std::vector<double> values(5, 7);
    expect_refused(errc::shape_mismatch, {"scale_rows", "5 values", "4 entries"}, values,
                   [&] { scale_rows(w, two, a.view(), values); });
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"scaled_rows", "d has 3", "A has 2 rows"},
                           [&] { scaled_rows(w, three, a); }));
    std::vector<double> own{1, 2, 3, 4, 5};
    csr_view<double> const view(unchecked, 2, 3, 4, a.row_ptr.data(), a.col.data(), own.data());
    expect_refused(errc::bad_structure, {"scale_rows", "overlaps the arrays of A"}, own,
                   [&] { scale_rows(w, two, view, vector_view<double>(own.data() + 1, 4)); });
  }
  EXPECT_EQ(a, small());
  where w;
  w.backend = backend::cuda;
  EXPECT_TRUE(
      fails_with(errc::unsupported, {"scale_rows", "cuda"}, [&] { scale_rows(w, two, a); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"scale", "cuda"}, [&] { scale(w, 2.0, a); }));
  csr<double> const b = std::move(a);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"scale_rows", "row_ptr", "moved"},
                         [&] { scale_rows(two, a); })); // NOLINT(bugprone-use-after-move)
}

} // namespace
} // namespace tulle::test::scale_test
