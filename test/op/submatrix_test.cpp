// SPDX-License-Identifier: Apache-2.0

// Blocks, choices, permutations, stacks and Kronecker products against the reference, and the
// reference against paper.
#include "tulle/format/csc.hpp"
#include "tulle/op/kron.hpp"
#include "tulle/op/stack.hpp"
#include "tulle/op/submatrix.hpp"

#include "op/sized.hpp"
#include "support/expect.hpp"
#include "support/memory.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <numeric>

namespace tulle::test::submatrix_test {
namespace {

using list = std::vector<std::int32_t>;

// 3 x 4, unsorted, with (0, 2) twice.
csr<double> small() {
  return {3, 4, {0, 3, 4, 6}, {2, 0, 2, 1, 3, 0}, {1, 2, 3, 4, 5, 6}};
}

TEST(submatrix, of_the_reference_is_as_on_paper) {
  reference const w;
  EXPECT_EQ(submatrix(w, small(), {0, 2}, {1, 4}), (csr<double>{2, 3, {0, 1, 2}, {1, 0}, {4, 4}}));
  EXPECT_EQ(submatrix(w, small(), list{2, 0, 2}, list{3, 0}),
            (csr<double>{3, 2, {0, 2, 3, 5}, {0, 1, 1, 0, 1}, {5, 6, 2, 5, 6}}));
  EXPECT_EQ(permute(w, small(), list{1, 2, 0}, all_indices),
            (csr<double>{3, 4, {0, 1, 3, 5}, {1, 0, 3, 0, 2}, {4, 6, 5, 2, 4}}));
  csr<double> const b(1, 2, {0, 2}, {0, 1}, {7, 8});
  EXPECT_EQ(hstack(w, b, b), (csr<double>{1, 4, {0, 4}, {0, 1, 2, 3}, {7, 8, 7, 8}}));
  EXPECT_EQ(vstack(w, b, b), (csr<double>{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {7, 8, 7, 8}}));
  EXPECT_EQ(block_diagonal(w, b, b), (csr<double>{2, 4, {0, 2, 4}, {0, 1, 2, 3}, {7, 8, 7, 8}}));
  csr<double> const d(2, 2, {0, 1, 2}, {1, 0}, {2, 3});
  EXPECT_EQ(kron(w, d, b), (csr<double>{2, 4, {0, 2, 4}, {2, 3, 0, 1}, {14, 16, 21, 24}}));
  EXPECT_EQ(kron(w, b, d), (csr<double>{2, 4, {0, 2, 4}, {1, 3, 0, 2}, {14, 16, 21, 24}}));
}

class submatrices : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, submatrices, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

/// f(w) is the same canonical matrix for all policies.
template <class F>
void expect_same(F const& f, std::string const& what) {
  auto const expected = f(where(reference{}));
  expected.validate();
  EXPECT_TRUE(expected.view().is_canonical()) << what;
  for (int const threads : {1, 2, 7})
    EXPECT_TRUE(same_arrays(borrowed(f(where(cpu{.threads = threads}))), expected.view()))
        << what << ", " << threads;
}

/// n indices below `end`, in no order, some more than once.
template <class I>
std::vector<I> some_indices(I n, I end) {
  std::vector<I> all;
  for (I k = 0; k < n && end > 0; ++k)
    all.push_back((k * 29 + k / 5) % end);
  return all;
}
template <class I>
std::vector<I> some_permutation(I n) {
  std::vector<I> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), I(0));
  for (std::size_t k = all.size(); k > 1; --k)
    std::swap(all[k - 1], all[k * 7919 % k]);
  std::reverse(all.begin(), all.begin() + n / 2);
  return all;
}

TEST_P(submatrices, of_all_sizes_as_the_reference_has_them) {
  each_sized([&](csr<double> const& m, std::string const& what) {
    if (m.rows > 100 && GetParam() > 1)
      return; // the reference looks at every place
    with_type(
        m, static_cast<type_tag>(GetParam()),
        [&]<class V, class I, class O>(csr<V, I, O> const& a) {
          I const n = a.rows, c = a.cols;
          expect_same(
              [&](where const& w) {
                return submatrix(w, a, {n / 3, n}, {1, c / 2 + 1});
              },
              what + " range");
          expect_same([&](where const& w) { return submatrix(w, a, {0, 0}, all_indices); }, what);
          auto const rows = some_indices<I>(n / 2 + 3, n), cols = some_indices<I>(c + 2, c);
          expect_same([&](where const& w) { return submatrix(w, a, rows, cols); }, what + " lists");
          expect_same([&](where const& w) { return submatrix(w, a, all_indices, cols); }, what);
          expect_same([&](where const& w) { return submatrix(w, a, rows, {0, c}); }, what);
          auto const p = some_permutation<I>(n), q = some_permutation<I>(c);
          expect_same([&](where const& w) { return permute(w, a, p, q); }, what + " permuted");
          expect_same([&](where const& w) { return hstack(w, a, a, a); }, what + " beside itself");
          expect_same([&](where const& w) { return vstack(w, a, a); }, what + " below itself");
          expect_same([&](where const& w) { return block_diagonal(w, a, a); }, what + " diagonal");
        });
  });
}

TEST_P(submatrices, kronecker_products_as_the_reference_has_them) {
  for (std::int32_t const n : {0, 1, 2, 7})
    for (std::int32_t const m : {0, 1, 3, 8})
      with_type(duplicated(sized(n, n + 1)), static_cast<type_tag>(GetParam()),
                [&]<class V, class I, class O>(csr<V, I, O> const& a) {
                  any_matrix const other =
                      as_type(unsorted(sized(m, m + 2, 3)), static_cast<type_tag>(GetParam()));
                  auto const& b = *other.get_if<csr<V, I, O>>();
                  expect_same([&](where const& w) { return kron(w, a, b); }, "kron");
                });
}

TEST(submatrix, of_large_matrices_is_the_same_for_every_number_of_threads) {
  csr<double> const& a = elephant();
  auto const p = some_permutation<std::int32_t>(a.rows), q = some_permutation<std::int32_t>(a.cols);
  csr<double> const b = sized(3, 4);
  auto const run = [&](int threads) {
    cpu const w{.threads = threads};
    return std::vector<csr<double>>{permute(w, a, p, q), submatrix(w, a, {5, a.rows - 3}, {1, 900}),
                                    hstack(w, a, a), vstack(w, a, a), kron(w, b, a)};
  };
  auto const expected = run(1);
  for (int const threads : {2, 64})
    EXPECT_EQ(run(threads), expected);
  // Back again.
  std::vector<std::int32_t> back_p(p.size()), back_q(q.size());
  for (std::size_t k = 0; k < p.size(); ++k)
    back_p[static_cast<std::size_t>(p[k])] = static_cast<std::int32_t>(k);
  for (std::size_t k = 0; k < q.size(); ++k)
    back_q[static_cast<std::size_t>(q[k])] = static_cast<std::int32_t>(k);
  EXPECT_EQ(permute(expected[0], back_p, back_q), a);
  EXPECT_EQ(submatrix(expected[2], all_indices, {a.cols, 2 * a.cols}), a);
  EXPECT_EQ(submatrix(expected[3], {a.rows, 2 * a.rows}, all_indices), a);
}

TEST(submatrix, takes_every_format_and_any_number_of_blocks) {
  csr<double> const a = small().to_csr();
  auto const by_columns = csc<double>::from_csr(a.view());
  EXPECT_EQ(submatrix(by_columns, {0, 2}, {1, 4}), submatrix(a, {0, 2}, {1, 4}));
  EXPECT_EQ(permute(a.view(), all_indices, list{3, 2, 1, 0}), permute(a, {0, 3}, list{3, 2, 1, 0}));
  EXPECT_EQ(hstack(a, by_columns), hstack(a, a));
  std::vector<csr_view<double>> const many(5, a.view());
  EXPECT_EQ(vstack(std::span(many)), vstack(a, a, a, a, a));
  EXPECT_EQ(vstack(std::span(many.data(), 1)), a);
  EXPECT_EQ(hstack(std::span(many.data(), 0)).rows, 0);
  EXPECT_EQ(kron(by_columns, a), kron(a, a));
}

TEST(submatrix, refuses_what_does_not_fit) {
  csr<double> a = small();
  csr<double> const b(2, 5, {0, 0, 0}, {}, {});
  for (where const& w : {where(cpu{}), where(reference{})}) {
    EXPECT_TRUE(fails_with(errc::bad_structure, {"submatrix", "rows [1, 4)", "[0, 3)"}, [&] {
      submatrix(w, a, {1, 4}, all_indices);
    }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"submatrix", "cols [3, 2)", "[0, 4)"}, [&] {
      submatrix(w, a, all_indices, {3, 2});
    }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"submatrix", "rows[1] is -1", "[0, 3)"}, [&] {
      submatrix(w, a, list{0, -1}, all_indices);
    }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"submatrix", "cols[0] is 4", "[0, 4)"},
                           [&] { submatrix(w, a, all_indices, list{4}); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"permute", "rows has 2", "A has 3 rows"}, [&] {
      permute(w, a, list{0, 1}, all_indices);
    }));
    EXPECT_TRUE(fails_with(errc::bad_structure, {"permute", "columns[2] is 0", "before"}, [&] {
      permute(w, a, all_indices, list{0, 1, 0, 3});
    }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"hstack", "block 1 has 2 rows", "has 3"},
                           [&] { hstack(w, a, b); }));
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"vstack", "block 1 has 5 columns", "has 4"},
                           [&] { vstack(w, a, b); }));
    std::int32_t const most = std::numeric_limits<std::int32_t>::max();
    csr<double> const wide(1, most, {0, 0}, {}, {});
    EXPECT_TRUE(
        fails_with(errc::overflow, {"hstack", "4294967294"}, [&] { hstack(w, wide, wide); }));
    EXPECT_TRUE(
        fails_with(errc::overflow, {"kron", "columns", "8589934588"}, [&] { kron(w, wide, a); }));
  }
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"submatrix", "bytes of workspace", "limit is 7"},
                         [&] { submatrix(cpu{.workspace_limit = 7}, a, all_indices, list{0}); }));
  where w;
  w.backend = backend::cuda;
  EXPECT_TRUE(fails_with(errc::unsupported, {"permute", "cuda"},
                         [&] { permute(w, a, all_indices, all_indices); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"vstack", "cuda"}, [&] { vstack(w, a, a); }));
  EXPECT_TRUE(fails_with(errc::unsupported, {"kron", "cuda"}, [&] { kron(w, a, a); }));
  csr<double> const gone = std::move(a);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"hstack", "row_ptr", "moved"},
                         [&] { hstack(gone, a); })); // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(fails_with(errc::bad_structure, {"kron", "B", "row_ptr", "moved"},
                         [&] { kron(gone, a); })); // NOLINT(bugprone-use-after-move)
}

TEST(submatrix, leaves_nothing_behind_where_memory_ends) {
  csr<double> const a = small();
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    try {
      cpu const w{.threads = 1, .memory = &memory};
      {
        permute(w, a, list{2, 1, 0}, list{3, 0, 1, 2});
        hstack(w, a, a);
        kron(w, a, a);
      }
      EXPECT_GT(k, 15u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
    }
    EXPECT_EQ(memory.outstanding(), 0u);
  }
}

} // namespace
} // namespace tulle::test::submatrix_test
