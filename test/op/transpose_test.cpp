// SPDX-License-Identifier: Apache-2.0

// A^T against the reference, and the reference against paper.
#include "tulle/format/csc.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/transpose.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::transpose_test {
namespace {

// 3 x 4, duplicates at (0, 2) and a row out of order.
csr<double> small() {
  return {3, 4, {0, 3, 3, 6}, {2, 0, 2, 3, 1, 0}, {1, 2, 3, 4, 5, 6}};
}

TEST(transpose, of_the_reference_is_as_on_paper) {
  csr<double> const expected{4, 3, {0, 2, 3, 5, 6}, {0, 2, 2, 0, 0, 2}, {2, 6, 5, 1, 3, 4}};
  EXPECT_EQ(transpose(reference{}, small()), expected);
}

template <class V, class I, class O>
void expect_transposed(csr<V, I, O> const& a, std::string const& what) {
  csr<V, I, O> const expected = transpose(reference{}, a);
  expected.validate();
  for (int const threads : {1, 2, 3, 7}) {
    cpu const w{.threads = threads};
    EXPECT_TRUE(same_arrays(borrowed(transpose(w, a)), expected.view())) << what << " " << threads;
    transpose_plan plan(w, a);
    EXPECT_TRUE(same_arrays(borrowed(plan.result()), expected.view())) << what << " " << threads;
    csr<V, I, O> other = a;
    for (V& v : other.val)
      v = v * V(2) + V(1);
    EXPECT_TRUE(
        same_arrays(borrowed(transpose(plan, other)), borrowed(transpose(reference{}, other))))
        << what << " " << threads;
  }
}

class transposes : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, transposes, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(transposes, the_zoo_as_the_reference_does) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    for (animal const& a : zoo())
      expect_transposed(*as_type(a.matrix, type).get_if<owner>(), a.name);
  });
}

// Entries that jump are sorted by blocks first; those that do not are not.
TEST(transpose, of_large_matrices_is_as_the_reference_does) {
  expect_transposed(elephant(), "elephant");
  std::vector<std::int32_t> const lengths(200000, 5);
  expect_transposed(rough(from_lengths(150000, lengths)), "200000 rows of five");
}

// Patterns that equal their transposes are copied; what is not quite one is sorted all the same.
TEST(transpose, of_grids_is_as_the_reference_does) {
  for (char const* name : {"poisson2d5:150", "poisson3d27:30", "lattice:30000"}) {
    csr<double> grid = generate(name);
    for (std::size_t k = 0; k < grid.val.size(); ++k)
      grid.val[k] = static_cast<double>(k);
    expect_transposed(grid, name);
    std::size_t const row = static_cast<std::size_t>(grid.rows) * 2 / 3; // in the second half
    auto const k = static_cast<std::size_t>(grid.row_ptr[row]);
    csr<double> other = grid;
    other.col[k] += 1;
    if (other.col[k] < other.col[k + 1])
      expect_transposed(other, std::string(name) + ", one entry without a twin");
    other.col[k] = other.col[k + 1];
    expect_transposed(other, std::string(name) + ", one entry twice");
    other = grid;
    std::swap(other.col[k], other.col[k + 1]);
    expect_transposed(other, std::string(name) + ", one row out of order");
  }
}

TEST(transpose, of_the_transpose_is_the_canonical_matrix) {
  for (animal const& a : zoo()) {
    csr<double> const twice = transpose(transpose(a.matrix));
    EXPECT_EQ(twice.to_csr(), a.matrix.to_csr()) << a.name;
  }
}

TEST(transpose, has_the_arrays_that_csc_has) {
  for (animal const& a : zoo()) {
    csr<double> const t = transpose(a.matrix.to_csr());
    csc<double> const c = csc<double>::from_csr(a.matrix.view());
    EXPECT_EQ(t.row_ptr, c.col_ptr) << a.name;
    EXPECT_EQ(t.col, c.row) << a.name;
    EXPECT_EQ(t.val, c.val) << a.name;
  }
}

TEST(transpose, conjugates_if_told_to) {
  using V = std::complex<double>;
  csr<V> const a{1, 3, {0, 2}, {0, 2}, {V(1, 2), V(3, -4)}};
  csr<V> const expected{3, 1, {0, 1, 1, 2}, {0, 0}, {V(1, -2), V(3, 4)}};
  for (where const& w : {where(cpu{}), where(reference{})}) {
    EXPECT_EQ(transpose(w, a, {.conjugate = true}), expected);
    transpose_plan plan(w, a, {.conjugate = true});
    EXPECT_EQ(transpose(plan, a), expected);
  }
  csr<double> const real{1, 1, {0, 1}, {0}, {-2}};
  EXPECT_EQ(transpose(real, {.conjugate = true}), real);
}

TEST(transpose, takes_every_format_and_any_matrix) {
  csr<double> const a = small().to_csr();
  csr<double> const expected = transpose(reference{}, a);
  EXPECT_EQ(transpose(csc<double>::from_csr(a.view())), expected);
  EXPECT_EQ(transpose(a.view()), expected);
  for_each_format(a, [&](any_matrix const& m) {
    any_matrix const t = transpose(m);
    ASSERT_TRUE(t.get_if<csr<double>>());
    EXPECT_EQ(*t.get_if<csr<double>>(), expected) << name(m.format());
  });
}

TEST(transpose_plan, says_what_it_does_and_costs) {
  csr<double> const a = small();
  transpose_plan const plan(a);
  EXPECT_EQ(plan.bytes(), a.val.size() * sizeof(std::int32_t));
  EXPECT_EQ(plan.path(), "cpu csr by permutation");
  EXPECT_GE(plan.seconds(), 0);
  EXPECT_EQ(transpose_plan(reference{}, a).path(), "reference csr");
}

TEST(transpose_plan, allocates_nothing_when_it_runs) {
  csr<double> const a = small();
  transpose_plan plan(cpu{.threads = 1}, a);
  std::size_t const before = global_allocations();
  transpose(plan, a);
  if (counts_global_allocations()) {
    EXPECT_EQ(global_allocations(), before);
  }
}

TEST(transpose_plan, refuses_another_pattern_and_keeps_its_result) {
  csr<double> const a = small();
  for (where const& w : {where(cpu{}), where(reference{})}) {
    transpose_plan plan(w, a);
    csr<double> const before = transpose(plan, a);
    csr<double> other = a;
    other.col[0] = 1;
    EXPECT_TRUE(fails_with(errc::bad_structure, {"transpose", "another pattern", "A"},
                           [&] { transpose(plan, other); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"transpose", "3 x 4", "6 entries", "4 x 3"},
                           [&] { transpose(plan, transpose(a)); }));
    EXPECT_EQ(plan.result(), before);
    csr<double> const copy = a; // the same indices elsewhere
    EXPECT_EQ(transpose(plan, copy), before);
  }
}

TEST(transpose, refuses_what_is_no_matrix) {
  csr<double> a = small();
  csr<double> const b = std::move(a);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"transpose", "A", "row_ptr", "moved"},
                         [&] { transpose(a); })); // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"transpose", "row_ptr"}, [&] { transpose_plan plan(a); }));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"transpose", "24 bytes", "23"},
                         [&] { transpose_plan plan(cpu{.workspace_limit = 23}, b); }));
}

TEST(transpose, leaves_nothing_behind_where_memory_ends) {
  csr<double> const a = small();
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    try {
      cpu const w{.threads = 1, .memory = &memory};
      {
        csr<double> const t = transpose(w, a);
        transpose_plan const plan(w, a);
      }
      EXPECT_GT(k, 5u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
    }
    EXPECT_EQ(memory.outstanding(), 0u);
  }
}

} // namespace
} // namespace tulle::test::transpose_test
