// SPDX-License-Identifier: Apache-2.0

// Diagonals against the reference, and matrices from them.
#include "tulle/format/csc.hpp"
#include "tulle/op/diagonal.hpp"
#include "tulle/op/select.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::diagonal_test {
namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// 3 x 4, duplicates at (0, 0) and (1, 2), no entry at (1, 1).
csr<double> small() {
  return {3, 4, {0, 3, 6, 8}, {2, 0, 0, 2, 0, 2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
}

TEST(diagonal, of_the_reference_is_as_on_paper) {
  reference const w;
  EXPECT_EQ(diagonal(w, small()), (array<double>{5, 0, 8}));
  EXPECT_EQ(diagonal(w, small(), 1), (array<double>{0, 10, 7}));
  EXPECT_EQ(diagonal(w, small(), 2), (array<double>{1, 0}));
  EXPECT_EQ(diagonal(w, small(), 3), (array<double>{0}));
  EXPECT_EQ(diagonal(w, small(), -1), (array<double>{5, 0}));
  EXPECT_EQ(diagonal(w, small(), -2), (array<double>{0}));
  for (std::int64_t const k : {std::int64_t(4), std::int64_t(-3), least, most})
    EXPECT_EQ(diagonal(w, small(), k).size(), 0u);
}

class diagonals : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, diagonals, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

template <class V, class I, class O>
void expect_diagonals(csr<V, I, O> const& a, std::string const& what) {
  for (std::int64_t const k : {std::int64_t(0), std::int64_t(1), std::int64_t(-1), std::int64_t(5),
                               std::int64_t(-40), least, most}) {
    array<V> const expected = diagonal(reference{}, a, k);
    EXPECT_EQ(expected.size(), detail::diagonal_length(a.rows, a.cols, k));
    for (int const threads : {1, 2, 7}) {
      cpu const w{.threads = threads};
      EXPECT_TRUE(same_bits(diagonal(w, a, k), expected)) << what << ", " << k << ", " << threads;
      array<V> d(expected.size(), V(static_cast<real_t<V>>(nan)));
      diagonal(w, a, d, k);
      EXPECT_TRUE(same_bits(d, expected)) << what << ", " << k << ", " << threads;
    }
  }
}

TEST_P(diagonals, of_the_zoo_are_as_the_reference_has_them) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using owner = csr<typename T::value, typename T::index, typename T::offset>;
    for (animal const& a : zoo())
      expect_diagonals(*as_type(a.matrix, type).get_if<owner>(), a.name);
  });
}

TEST_P(diagonals, make_matrices_that_have_them) {
  visit(static_cast<type_tag>(GetParam()), [&](auto types) {
    using T = decltype(types);
    using V = typename T::value;
    using I = typename T::index;
    using O = typename T::offset;
    for (std::size_t const n : {0, 1, 5, 3000})
      for (std::int64_t const k : {0, 1, -1, 70, -70}) {
        std::vector<V> d(n);
        for (std::size_t i = 0; i < n; ++i)
          d[i] = static_cast<V>(static_cast<real_t<V>>(i % 7)); // zeros among them
        csr<V, I, O> const a = from_diagonal<I, O>(d, k);
        a.validate();
        EXPECT_EQ(static_cast<std::size_t>(a.rows), n + static_cast<std::size_t>(k < 0 ? -k : k));
        EXPECT_EQ(a.rows, a.cols);
        EXPECT_EQ(a.val.size(), n);
        EXPECT_TRUE(same_bits(diagonal(a, k), d));
        EXPECT_EQ(select(a, select_kind::diagonal, {.k = k}), a);
      }
  });
}

TEST(diagonal, of_a_large_matrix_is_as_the_reference_has_it) {
  expect_diagonals(elephant(), "elephant");
  expect_diagonals(unsorted(duplicated(elephant())), "elephant, unsorted");
}

TEST(diagonal, takes_every_format_that_is_known) {
  csr<double> const a = small();
  array<double> const expected = diagonal(a, 1);
  EXPECT_EQ(diagonal(csc<double>::from_csr(a.view()), 1), expected);
  EXPECT_EQ(diagonal(a.view(), 1), expected);
}

TEST(diagonal, comes_from_the_memory_it_is_told_to) {
  peak_memory memory;
  {
    array<double> const d = diagonal(cpu{.memory = &memory}, elephant());
    EXPECT_EQ(memory.peak(), d.bytes());
  }
  EXPECT_EQ(memory.outstanding(), 0u);
}

TEST(diagonal, refuses_what_does_not_fit) {
  csr<double> a = small();
  std::vector<double> d(3, 7);
  for (where const& w : {where(cpu{}), where(reference{})}) {
    expect_refused(errc::shape_mismatch, {"d has 3 entries", "diagonal 2", "3 x 4", "has 2"}, d,
                   [&] { diagonal(w, a, d, 2); });
    EXPECT_TRUE(fails_with(errc::bad_structure, {"diagonal", "d is null", "3"},
                           [&] { diagonal(w, a, vector_view<double>(nullptr, 3)); }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"diagonal", "d overlaps the arrays of A"},
                           [&] { diagonal(w, a, vector_view<double>(a.val.data() + 2, 3)); }));
  }
  EXPECT_EQ(a, small());
  auto by_columns = csc<double>::from_csr(a.view());
  expect_refused(errc::bad_structure, {"diagonal", "d overlaps the arrays of A"}, by_columns.val,
                 [&] { diagonal(by_columns, vector_view<double>(by_columns.val.data(), 3)); });
  where w;
  w.backend = backend::cuda;
  EXPECT_TRUE(fails_with(errc::unsupported, {"diagonal", "cuda"}, [&] { diagonal(w, a); }));
  EXPECT_TRUE(
      fails_with(errc::unsupported, {"from_diagonal", "cuda"}, [&] { from_diagonal(w, d); }));
  EXPECT_TRUE(fails_with(errc::overflow, {"from_diagonal", "2147483650"},
                         [&] { from_diagonal(d, 2147483647); }));
  EXPECT_TRUE(fails_with(errc::overflow, {"from_diagonal", "9223372036854775808"},
                         [&] { from_diagonal(d, least); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"from_diagonal", "d is null"},
                         [&] { from_diagonal(vector_view<double>(nullptr, 3)); }));
  csr<double> const b = std::move(a);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"diagonal", "row_ptr", "moved"},
                         [&] { diagonal(a); })); // NOLINT(bugprone-use-after-move)
}

} // namespace
} // namespace tulle::test::diagonal_test
