// SPDX-License-Identifier: Apache-2.0

// A .* B against dense loops and the reference.
#include "tulle/format/coo.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/op/multiply_elements.hpp"

#include "op/arranged.hpp"
#include "op/sized.hpp"
#include "support/expect.hpp"
#include "support/memory.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::multiply_elements_test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

csr<double> small() {
  return {3, 4, {0, 2, 2, 4}, {0, 2, 1, 3}, {1, 2, 3, 4}};
}
// Shares (0, 2) and (2, 1); unsorted, with (2, 1) twice.
csr<double> other() {
  return {3, 4, {0, 2, 3, 5}, {3, 2, 1, 1, 1}, {5, 6, 7, 8, 9}};
}

TEST(multiply_elements, of_the_reference_is_as_on_paper) {
  EXPECT_EQ(multiply_elements(reference{}, small(), other()),
            (csr<double>{3, 4, {0, 1, 1, 2}, {2, 1}, {12, 51}}));
}

class element_products : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, element_products, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

template <class V, class I, class O>
void expect_product(csr<V, I, O> const& a, csr<V, I, O> const& b, std::string const& what) {
  csr<V, I, O> const expected = multiply_elements(reference{}, a, b);
  expected.validate();
  EXPECT_TRUE(expected.view().is_canonical()) << what;
  for (int const threads : {1, 2, 7}) {
    cpu const w{.threads = threads};
    EXPECT_TRUE(same_arrays(borrowed(multiply_elements(w, a, b)), expected.view())) << what;
    multiply_elements_plan plan(w, a, b);
    for (int run = 0; run < 2; ++run)
      EXPECT_TRUE(same_arrays(borrowed(multiply_elements(plan, a, b)), expected.view()))
          << what << " " << plan.path() << " " << threads;
  }
}

TEST_P(element_products, matrices_of_all_sizes) {
  auto const type = static_cast<type_tag>(GetParam());
  each_sized([&](csr<double> const& a, std::string const& what) {
    with_type(a, type, [&]<class V, class I, class O>(csr<V, I, O> const& left) {
      csr<double> const other = sized(a.rows, a.cols, 4);
      with_type(other, type, [&](auto const& right) {
        if constexpr (std::is_same_v<decltype(right), csr<V, I, O> const&>) {
          std::vector<V> x = dense_form(left);
          std::vector<V> const y = dense_form(right);
          for (std::size_t k = 0; k < x.size(); ++k)
            x[k] *= y[k];
          EXPECT_EQ(dense_form(multiply_elements(reference{}, left, right)), x) << what;
          expect_product(left, right, what);
          expect_product(right, left, what);
        }
      });
      expect_product(left, left, what + " and itself");
    });
  });
}

// Rows of which one is much the longer are searched.
TEST(multiply_elements, takes_rows_of_lengths_that_differ) {
  for (std::int32_t const n : {1, 3, 50, 200}) {
    csr<double> const a = from_lengths(2000, {n, 0, n, 1500}, 5);
    csr<double> const b = from_lengths(2000, {1500, 700, n + 1, n}, 6);
    expect_product(a, b, std::to_string(n));
    expect_product(b, a, std::to_string(n));
  }
}

TEST(multiply_elements, has_the_same_bits_for_every_number_of_threads) {
  csr<double> const a = rough(elephant());
  csr<double> const b = rough(elephant(), 7);
  csr<double> const expected = multiply_elements(cpu{.threads = 1}, a, b);
  EXPECT_EQ(expected.col, a.col);
  for (int const threads : {2, 5, 64})
    EXPECT_TRUE(
        same_arrays(borrowed(multiply_elements(cpu{.threads = threads}, a, b)), expected.view()));
}

TEST(multiply_elements, by_a_dense_matrix_reads_only_places_of_a) {
  for (arrangement const how : every_arrangement)
    for (csr<double> const& a : {small(), other(), sized(65, 33)}) {
      auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
      places const at = arranged(how, rows, cols);
      std::vector<double> b(at.size(), nan);
      csr<double> expected = a.to_csr();
      for (std::int32_t i = 0; i < a.rows; ++i)
        for (std::int32_t k = expected.row_ptr[i]; k < expected.row_ptr[i + 1]; ++k) {
          auto const j = static_cast<std::size_t>(expected.col[k]);
          double const v = static_cast<double>(k % 5) - 2;
          b[at.at(static_cast<std::size_t>(i), j)] = v;
          expected.val[k] *= v;
        }
      dense_view<double const> const view = at.view(b.data());
      for (where const& w :
           {where(reference{}), where(cpu{.threads = 1}), where(cpu{.threads = 7})})
        EXPECT_TRUE(same_arrays(borrowed(multiply_elements(w, a, view)), expected.view()));
    }
}

TEST(multiply_elements, keeps_nan_and_zeros_at_shared_places_alone) {
  csr<double> a = small();
  a.val[0] = nan; // B has no such place
  a.val[1] = 0;
  csr<double> const c = multiply_elements(a, other());
  EXPECT_EQ(c.val, (array<double>{0, 51}));
  a.val[1] = nan;
  EXPECT_TRUE(std::isnan(multiply_elements(a, other()).val[0]));
}

TEST(multiply_elements, takes_every_format) {
  csr<double> const expected = multiply_elements(reference{}, small(), other());
  EXPECT_EQ(multiply_elements(csc<double>::from_csr(borrowed(small())),
                              coo<double>::from_csr(borrowed(other()))),
            expected);
  EXPECT_EQ(multiply_elements(borrowed(small()), other()), expected);
}

TEST(multiply_elements, refuses_shapes_that_differ_and_what_is_no_matrix) {
  csr<double> const a = small();
  csr<double> const wide{3, 5, {0, 0, 0, 0}, {}, {}};
  std::vector<double> const d(12, 1);
  for (where const& w : {where(cpu{}), where(reference{})}) {
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"multiply_elements", "A is 3 x 4", "B is 3 x 5"},
                           [&] { multiply_elements(w, a, wide); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"multiply_elements", "A is 3 x 4", "B is 4 x 3"},
                           [&] { multiply_elements(w, a, row_major(d.data(), 4, 3)); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"multiply_elements", "B is null"}, [&] {
      multiply_elements(w, a, row_major(static_cast<double const*>(nullptr), 3, 4));
    }));
    csr<double> gone = a;
    csr<double> const there = std::move(gone);
    EXPECT_TRUE(fails_with(errc::bad_structure, {"multiply_elements", "B", "row_ptr", "moved"},
                           [&] { multiply_elements(w, a, gone); })); // NOLINT
  }
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"multiply_elements", "7"},
                         [&] { multiply_elements(cpu{.workspace_limit = 7}, a, other()); }));
  where w;
  w.backend = backend::cuda;
  EXPECT_TRUE(fails_with(errc::unsupported, {"multiply_elements", "cuda"},
                         [&] { multiply_elements(w, a, a); }));
}

TEST(multiply_elements_plan, refuses_other_patterns_and_keeps_its_result) {
  csr<double> const a = small(), b = other();
  for (where const& w : {where(cpu{}), where(reference{})}) {
    multiply_elements_plan plan(w, a, b);
    csr<double> const before = multiply_elements(plan, a, b);
    csr<double> moved_entry = a;
    moved_entry.col[0] = 1;
    EXPECT_TRUE(fails_with(errc::bad_structure, {"multiply_elements", "another pattern", "A"},
                           [&] { multiply_elements(plan, moved_entry, b); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"multiply_elements", "another pattern", "B"},
                           [&] { multiply_elements(plan, a, moved_entry); }));
    csr<double> const tall{4, 4, {0, 0, 0, 0, 0}, {}, {}};
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"multiply_elements", "3 x 4", "4 x 4"},
                           [&] { multiply_elements(plan, tall, tall); }));
    EXPECT_EQ(plan.result(), before);
  }
}

TEST(multiply_elements_plan, says_what_it_does_and_allocates_nothing_when_it_runs) {
  csr<double> const a = small(), b = other().to_csr();
  multiply_elements_plan plan(cpu{.threads = 1}, a, b);
  EXPECT_EQ(plan.path(), "cpu csr by places");
  EXPECT_EQ(plan.bytes(), 2 * 2 * sizeof(std::int32_t));
  std::size_t const before = global_allocations();
  multiply_elements(plan, a, b);
  if (counts_global_allocations()) {
    EXPECT_EQ(global_allocations(), before);
  }
  EXPECT_EQ(multiply_elements_plan(a, other()).path(), "cpu csr by places, B sorted first");
  EXPECT_EQ(multiply_elements_plan(reference{}, a, b).path(), "reference csr");
}

TEST(multiply_elements, leaves_nothing_behind_where_memory_ends) {
  csr<double> const a = small(), b = other();
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    try {
      cpu const w{.threads = 1, .memory = &memory};
      {
        multiply_elements(w, a, b);
        multiply_elements_plan const plan(w, a, b);
      }
      EXPECT_GT(k, 8u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
    }
    EXPECT_EQ(memory.outstanding(), 0u);
  }
}

} // namespace
} // namespace tulle::test::multiply_elements_test
