// SPDX-License-Identifier: Apache-2.0

// C = alpha (A B) .* spy(C) + beta C against dense loops and the reference.
#include "tulle/format/csc.hpp"
#include "tulle/op/sddmm.hpp"

#include "op/arranged.hpp"
#include "op/sized.hpp"
#include "support/expect.hpp"
#include "support/memory.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::sddmm_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Unsorted, with (0, 0) twice.
csr<double> small() {
  return {2, 3, {0, 3, 4}, {2, 0, 0, 1}, {1, 2, 3, 4}};
}
std::vector<double> const a22{1, 2, 3, 4}, b23{1, 0, 2, 1, 1, 1}; // A B = 3 2 4 / 7 4 10

TEST(sddmm, of_the_reference_is_as_on_paper) {
  reference const w;
  auto const a = row_major(a22.data(), 2, 2);
  auto const b = row_major(b23.data(), 2, 3);
  csr<double> c = small();
  sddmm(w, 2.0, a, b, 10.0, c);
  EXPECT_EQ(c.val, (array<double>{18, 26, 30, 48}));
  EXPECT_EQ(sddmm(w, 1.0, a, b, small()), (csr<double>{2, 3, {0, 2, 3}, {0, 2, 1}, {3, 4, 4}}));
  EXPECT_EQ(sddmm(w, 1.0, a, b, small(), {.times_values = true}),
            (csr<double>{2, 3, {0, 2, 3}, {0, 2, 1}, {15, 4, 16}}));
}

class sddmms : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, sddmms, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

/// A dense matrix of small integers, arranged so; NaN in the gaps.
template <class V>
struct dense_operand {
  places at;
  std::vector<V> values;

  dense_operand(arrangement how, std::size_t rows, std::size_t cols, unsigned seed)
      : at(arranged(how, rows, cols)), values(at.size(), V(static_cast<real_t<V>>(nan))) {
    std::vector<V> const from = integers_of<V>(rows * cols, seed);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < cols; ++j)
        values[at.at(i, j)] = from[i * cols + j];
  }
  dense_view<V const> view() const { return at.view(values.data()); }
};

/// All factors, on 1 and 7 threads and by the reference; integers, so that sums are exact.
template <class V, class I, class O>
void expect_sampled(csr<V, I, O> const& c, std::size_t k, arrangement how,
                    std::string const& what) {
  auto const rows = static_cast<std::size_t>(c.rows), cols = static_cast<std::size_t>(c.cols);
  dense_operand<V> const a(how, rows, k, 5), b(how, k, cols, 6);
  std::vector<V> const before = dense_form(c);
  std::vector<char> is_entry(before.size(), 0);
  for (I i = 0; i < c.rows; ++i)
    for (O e = c.row_ptr[i]; e < c.row_ptr[i + 1]; ++e)
      is_entry[static_cast<std::size_t>(i) * cols + static_cast<std::size_t>(c.col[e])] = 1;
  std::vector<V> product(before.size(), V(0));
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < cols; ++j)
      for (std::size_t p = 0; p < k && is_entry[i * cols + j]; ++p)
        product[i * cols + j] += a.view()(i, p) * b.view()(p, j);
  for (where const& w : {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 7})}) {
    for (double const s : {0.0, 1.0, -1.0, 3.0})
      for (double const t : {0.0, 1.0, -1.0, 0.5}) {
        auto const alpha = static_cast<V>(static_cast<real_t<V>>(s));
        auto const beta = static_cast<V>(static_cast<real_t<V>>(t));
        csr<V, I, O> got = c;
        if (t == 0)
          std::fill(got.val.begin(), got.val.end(), V(static_cast<real_t<V>>(nan)));
        sddmm(w, alpha, a.view(), b.view(), beta, got);
        std::vector<V> expected(before.size());
        for (std::size_t e = 0; e < before.size(); ++e)
          expected[e] = alpha * product[e] + beta * before[e];
        ASSERT_EQ(dense_form(got), expected) << what << ", " << name(how) << ", k " << k;
      }
    csr<V, I, O> const sampled = sddmm(w, V(1), a.view(), b.view(), c);
    ASSERT_EQ(dense_form(sampled), product) << what;
    EXPECT_TRUE(sampled.view().is_canonical()) << what;
    std::vector<V> expected(before.size());
    for (std::size_t e = 0; e < before.size(); ++e)
      expected[e] = product[e] * before[e];
    ASSERT_EQ(dense_form(sddmm(w, V(1), a.view(), b.view(), c, {.times_values = true})), expected);
  }
}

TEST_P(sddmms, matrices_of_all_sizes) {
  std::size_t number = 0;
  each_sized([&](csr<double> const& c, std::string const& what) {
    with_type(c, static_cast<type_tag>(GetParam()), [&](auto const& typed) {
      auto const how = every_arrangement[number++ % 5];
      expect_sampled(typed, static_cast<std::size_t>(number % 23), how, what);
    });
  });
}

TEST_P(sddmms, inner_sizes_of_all_kinds) {
  csr<double> const c = sized(37, 41);
  for (csr<double> const& twin : {c, unsorted(c), duplicated(c)})
    with_type(twin, static_cast<type_tag>(GetParam()), [&](auto const& typed) {
      for (std::int32_t const k : {0, 1, 2, 31, 32, 33, 64, 65, 127})
        for (arrangement const how : {arrangement::rows, arrangement::columns})
          expect_sampled(typed, static_cast<std::size_t>(k), how, "inner");
    });
}

TEST(sddmm, has_the_same_bits_for_every_number_of_threads_and_all_strides) {
  csr<double> const c = rough(sized(300, 257));
  std::size_t const k = 77;
  auto const x = roughs(300 * k, 1), y = roughs(257 * k, 2);
  std::vector<double> x_columns(x.size()), y_rows(y.size());
  for (std::size_t p = 0; p < k; ++p) {
    for (std::size_t i = 0; i < 300; ++i)
      x_columns[p * 300 + i] = x[i * k + p];
    for (std::size_t j = 0; j < 257; ++j)
      y_rows[p * 257 + j] = y[j * k + p];
  }
  csr<double> const expected =
      sddmm(cpu{.threads = 1}, 0.7, row_major(x.data(), 300, k), col_major(y.data(), k, 257), c);
  for (int const threads : {1, 2, 5, 64})
    for (std::size_t const limit : {SIZE_MAX, std::size_t(0)}) {
      cpu const w{.threads = threads, .workspace_limit = limit};
      EXPECT_TRUE(same_arrays(
          borrowed(sddmm(w, 0.7, row_major(x.data(), 300, k), row_major(y_rows.data(), k, 257), c)),
          expected.view()));
      EXPECT_TRUE(same_arrays(borrowed(sddmm(w, 0.7, col_major(x_columns.data(), 300, k),
                                             col_major(y.data(), k, 257), c)),
                              expected.view()));
    }
}

TEST(sddmm, reads_nothing_for_factors_of_zero) {
  std::vector<double> const bad(6, nan);
  for (where const& w : {where(cpu{}), where(reference{})}) {
    csr<double> c = small();
    sddmm(w, 0.0, row_major(bad.data(), 2, 2), row_major(bad.data(), 2, 3), 2.0, c);
    EXPECT_EQ(c.val, (array<double>{2, 4, 6, 8}));
  }
}

TEST(sddmm, takes_views_and_every_format) {
  auto const a = row_major(a22.data(), 2, 2);
  auto const b = row_major(b23.data(), 2, 3);
  csr<double> const canonical = small().to_csr();
  EXPECT_EQ(sddmm(1.0, a, b, csc<double>::from_csr(canonical.view())), sddmm(1.0, a, b, canonical));
  std::vector<double> values(3, nan);
  sddmm(1.0, a, b, 0.0, canonical.view(), values);
  EXPECT_EQ(values, (std::vector<double>{3, 4, 4}));
}

TEST(sddmm, refuses_what_does_not_fit) {
  auto const a = row_major(a22.data(), 2, 2);
  auto const b = row_major(b23.data(), 2, 3);
  csr<double> c = small();
  for (where const& w : {where(cpu{}), where(reference{})}) {
    expect_refused(errc::shape_mismatch, {"sddmm", "A has 1 rows", "C has 2"}, c.val,
                   [&] { sddmm(w, 1.0, row_major(a22.data(), 1, 2), b, 0.0, c); });
    expect_refused(errc::shape_mismatch, {"sddmm", "B has 2 columns", "C has 3"}, c.val,
                   [&] { sddmm(w, 1.0, a, row_major(b23.data(), 2, 2), 0.0, c); });
    expect_refused(errc::shape_mismatch, {"sddmm", "A has 1 columns", "B has 2 rows"}, c.val,
                   [&] { sddmm(w, 1.0, row_major(a22.data(), 2, 1), b, 0.0, c); });
    expect_refused(errc::bad_structure, {"sddmm", "A is null", "2 x 2"}, c.val, [&] {
      sddmm(w, 1.0, row_major(static_cast<double const*>(nullptr), 2, 2), b, 0.0, c);
    });
    expect_refused(errc::bad_structure, {"sddmm", "C overlaps A"}, c.val,
                   [&] { sddmm(w, 1.0, row_major(c.val.data(), 2, 2), b, 0.0, c); });
    expect_refused(errc::overflow, {"sddmm"}, c.val,
                   [&] { sddmm(w, 1.0, row_major(a22.data(), 2, 2, SIZE_MAX / 2), b, 0.0, c); });
    std::vector<double> values(3, 7);
    expect_refused(errc::shape_mismatch, {"sddmm", "3 values", "4 entries"}, values,
                   [&] { sddmm(w, 1.0, a, b, 0.0, c.view(), values); });
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"sddmm", "A has 1 rows", "S has 2"},
                           [&] { sddmm(w, 1.0, row_major(a22.data(), 1, 2), b, c); }));
  }
  expect_refused(errc::out_of_memory, {"sddmm", "bytes of workspace", "7"}, c.val,
                 [&] { sddmm(cpu{.workspace_limit = 7}, 1.0, a, b, 0.0, c); });
  EXPECT_EQ(c, small());
  where w;
  w.backend = backend::cuda;
  EXPECT_TRUE(
      fails_with(errc::unsupported, {"sddmm", "cuda"}, [&] { sddmm(w, 1.0, a, b, 0.0, c); }));
  csr<double> const gone = std::move(c);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"sddmm", "row_ptr", "moved"},
                         [&] { sddmm(1.0, a, b, c); })); // NOLINT(bugprone-use-after-move)
}

TEST(sddmm, leaves_c_as_it_was_where_memory_ends) {
  csr<double> const before = unsorted(sized(33, 31));
  auto const x = integers(33 * 5, 1), y = integers(31 * 5, 2);
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    csr<double> c = before;
    try {
      cpu const w{.threads = 1, .memory = &memory};
      sddmm(w, 1.0, col_major(x.data(), 33, 5), row_major(y.data(), 5, 31), 1.0, c);
      EXPECT_GT(k, 3u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
      EXPECT_EQ(c, before);
    }
    EXPECT_EQ(memory.outstanding(), 0u);
  }
}

} // namespace
} // namespace tulle::test::sddmm_test
