// SPDX-License-Identifier: Apache-2.0

// Triangular solves with many right-hand sides: each column has the bits of trsv.
#include "tulle/format/csc.hpp"
#include "tulle/op/trsm.hpp"

#include "op/triangles.hpp"
#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>

namespace tulle::test::trsm_test {
namespace {

using doubles = std::vector<double>;

/// Places of an n x columns matrix, with gaps.
struct arrangement {
  char const* name;
  std::size_t row, col, size;
};
std::vector<arrangement> arrangements(std::size_t n, std::size_t columns) {
  return {{"rows", columns, 1, n * columns},
          {"rows with gaps", columns + 3, 1, n * (columns + 3)},
          {"columns", 1, n, n * columns},
          {"columns with gaps", 1, n + 5, (n + 5) * columns},
          {"neither", 2 * columns, 2, 2 * n * columns}};
}

template <class V, class I, class O>
void expect_columns(csr<V, I, O> const& a, std::size_t columns, trsv_options o, where const& w) {
  auto const n = static_cast<std::size_t>(a.rows);
  V const alpha(0.75);
  for (view_of_triangle const v : every_view)
    with_view(v, a, [&](auto const& view) {
      std::vector<std::vector<V>> b, expected;
      for (std::size_t j = 0; j < columns; ++j) {
        b.push_back(right_side<V>(n, static_cast<unsigned>(j) + 3));
        expected.emplace_back(n);
        trsv(w, alpha, view, b.back(), expected.back(), o);
      }
      for (arrangement const& from : arrangements(n, columns))
        for (arrangement const& to : arrangements(n, columns)) {
          std::vector<V> bs(from.size, not_a_number<V>()), xs(to.size, not_a_number<V>());
          dense_view<V> const in{bs.data(), n, columns, from.row, from.col};
          dense_view<V> const out{xs.data(), n, columns, to.row, to.col};
          for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < columns; ++j)
              in(i, j) = b[j][i];
          auto const check = [&](dense_view<V> x, char const* how) {
            for (std::size_t j = 0; j < columns; ++j)
              for (std::size_t i = 0; i < n; ++i)
                ASSERT_TRUE(std::memcmp(&x(i, j), &expected[j][i], sizeof(V)) == 0)
                    << how << " " << from.name << " to " << to.name << ", " << columns
                    << " columns, row " << i << " column " << j;
          };
          trsm(w, alpha, view, in, out, o);
          check(out, "once");
          if (columns != 0 && n != 0 && to.size > n * columns && to.col == 1) {
            EXPECT_NE(xs[to.row - 1], xs[to.row - 1]) << "a gap was written to";
          }
          trsm_plan plan(w, view, columns, o);
          trsm(plan, alpha, view, in, out);
          check(out, "planned");
          trsm(plan, alpha, view, in, in);
          check(in, "in place");
        }
    });
}

TEST(trsm, has_the_bits_of_trsv_for_every_number_of_columns) {
  csr<double> const a = safe_matrix<double>(65, 12);
  for (std::size_t const columns : {0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17})
    for (triangle const side : {triangle::lower, triangle::upper})
      expect_columns(a, columns, {.triangle = side}, cpu{.threads = 2});
}

TEST(trsm, has_the_bits_of_trsv_for_every_method) {
  csr<double> const a = safe_matrix<double>(101, 4), mixed = untidy(a, false);
  for (trsv_method const m : every_method)
    for (int const threads : {1, 2, 5})
      for (csr<double> const* from : {&a, &mixed})
        expect_columns(*from, 5, {.triangle = triangle::upper, .method = m},
                       cpu{.threads = threads});
}

TEST(trsm_plan, deals_columns_where_there_are_enough) {
  csr<double> const a = safe_matrix<double>(257, 5);
  for (std::size_t const columns : {9, 16, 33}) {
    trsm_plan const plan(cpu{.threads = 2}, a, columns);
    EXPECT_NE(plan.path().find("trsm serial, by columns, 2 threads"), std::string::npos)
        << plan.path();
    for (int const threads : {2, 3, 5})
      expect_columns(a, columns, {}, cpu{.threads = threads});
  }
}

TEST(trsm, of_the_reference_is_trsv_of_it) {
  expect_columns(safe_matrix<double>(33, 4), 3, {}, reference{});
}

TEST(trsm, of_wide_levels_has_the_same_bits_for_every_number_of_threads) {
  csr<double> a = generate("poisson3d7:20");
  auto const n = static_cast<std::size_t>(a.rows);
  for (std::size_t const columns : {3, 8}) {
    doubles const b = right_side<double>(n * columns);
    doubles first;
    for (trsv_method const m : every_method)
      for (int threads = 1; threads <= 5; ++threads) {
        trsm_plan plan(cpu{.threads = threads}, a, columns, {.method = m});
        doubles x(n * columns, not_a_number<double>());
        trsm(plan, 1.0, a, row_major(b.data(), n, columns), row_major(x.data(), n, columns));
        if (first.empty())
          first = x;
        ASSERT_TRUE(same_bits(x, first)) << plan.path();
      }
  }
}

class solves_many : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, solves_many, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(solves_many, right_sides_of_every_type_with_the_bits_of_trsv) {
  visit(static_cast<type_tag>(GetParam()), [&](auto types) {
    using T = decltype(types);
    auto a = safe_matrix<typename T::value, typename T::index, typename T::offset>(33, 10);
    expect_columns(a, 6, {}, cpu{.threads = 2});
    for (auto& v : a.val)
      v = v / typename T::value(32); // else the solution grows beyond all bounds
    expect_columns(a, 6, {.unit_diagonal = true}, cpu{.threads = 2});
  });
}

TEST(trsm, serves_csc_and_any_matrix_and_a_plan_of_other_columns) {
  csr<double> const a = safe_matrix<double>(33, 4);
  doubles const b = right_side<double>(33 * 5);
  doubles x(33 * 5), y(33 * 5);
  auto const in = row_major(b.data(), 33, 5);
  trsm(1.0, a, in, row_major(x.data(), 33, 5));
  any_matrix const any = a;
  trsm(1.0, any, in, row_major(y.data(), 33, 5));
  EXPECT_TRUE(same_bits(x, y));
  csc<double> const by_columns = csc<double>::from_csr(a.view());
  std::fill(y.begin(), y.end(), 0);
  trsm(1.0, by_columns, in, row_major(y.data(), 33, 5));
  EXPECT_TRUE(same_bits(x, y));
  for (std::size_t const columns : {1, 4, 50}) {
    trsm_plan plan(a, columns);
    std::fill(y.begin(), y.end(), 0);
    trsm(plan, 1.0, a, in, row_major(y.data(), 33, 5));
    EXPECT_TRUE(same_bits(x, y)) << columns;
    doubles one(33), other(33);
    trsv(plan, 1.0, a, doubles(33, 1), one);
    trsv(1.0, a, doubles(33, 1), other);
    EXPECT_TRUE(same_bits(one, other)) << columns;
  }
}

TEST(trsm_refuses, what_does_not_fit) {
  csr<double> const a = safe_matrix<double>(4, 2);
  doubles const b(40, 1);
  doubles x(40, 7);
  auto const in = row_major(b.data(), 4, 2);
  auto const refused = [&](errc code, std::vector<std::string> const& words, auto&& f) {
    expect_refused(code, words, x, f);
  };
  for (where const& w : {where(cpu{}), where(reference{})}) {
    refused(errc::shape_mismatch, {"trsm", "B has 5 rows", "4 rows"},
            [&] { trsm(w, 1.0, a, row_major(b.data(), 5, 2), row_major(x.data(), 4, 2)); });
    refused(errc::shape_mismatch, {"trsm", "X has 5 rows", "4 rows"},
            [&] { trsm(w, 1.0, a, in, row_major(x.data(), 5, 2)); });
    refused(errc::shape_mismatch, {"B has 2 columns", "X has 3"},
            [&] { trsm(w, 1.0, a, in, row_major(x.data(), 4, 3)); });
    refused(errc::bad_structure, {"B is null"}, [&] {
      trsm(w, 1.0, a, dense_view<double const>{nullptr, 4, 2, 2, 1}, row_major(x.data(), 4, 2));
    });
    refused(errc::bad_structure, {"X is null"}, [&] {
      trsm(w, 1.0, a, in, dense_view<double>{nullptr, 4, 2, 2, 1});
    });
    refused(errc::bad_structure, {"strides", "shared"}, [&] {
      trsm(w, 1.0, a, in, dense_view<double>{x.data(), 4, 2, 1, 1});
    });
    refused(errc::bad_structure, {"B and X overlap"},
            [&] { trsm(w, 1.0, a, row_major(x.data() + 2, 4, 2), row_major(x.data(), 4, 2)); });
    refused(errc::bad_structure, {"B and X overlap"},
            [&] { trsm(w, 1.0, a, col_major(x.data(), 4, 2), row_major(x.data(), 4, 2)); });
    csr<double> zero = a;
    for (std::size_t k = static_cast<std::size_t>(a.row_ptr[2]);
         k < static_cast<std::size_t>(a.row_ptr[3]); ++k)
      zero.val[k] = zero.col[k] == 2 ? 0 : zero.val[k];
    refused(errc::bad_structure, {"trsm", "row 2", "zero"},
            [&] { trsm(w, 1.0, zero, in, row_major(x.data(), 4, 2)); });
    // Columns of one array are apart.
    EXPECT_NO_THROW(trsm(w, 1.0, a, dense_view<double const>{x.data(), 4, 2, 5, 1},
                         dense_view<double>{x.data() + 2, 4, 2, 5, 1}));
    std::fill(x.begin(), x.end(), 7);
  }
}

TEST(trsm_plan, a_planned_call_allocates_nothing) {
  if (!counts_global_allocations())
    GTEST_SKIP() << "the sanitizer has operator new";
  csr<double> const a = generate("poisson2d5:60");
  doubles const b(3600 * 9, 1);
  doubles x(3600 * 9);
  for (trsv_method const m : every_method) {
    trsm_plan plan(cpu{.threads = 3}, a, 9, {.method = m});
    auto const solve = [&] {
      trsm(plan, 1.0, a, row_major(b.data(), 3600, 9), row_major(x.data(), 3600, 9));
    };
    solve();
    std::size_t const before = global_allocations();
    solve();
    EXPECT_EQ(global_allocations(), before) << plan.path();
  }
}

TEST(trsm, leaves_nothing_behind_where_memory_ends) {
  csr<double> const a = safe_matrix<double>(33, 5);
  doubles x(33 * 3, 7);
  for (trsv_method const m : every_method)
    for (std::size_t k = 1;; ++k) {
      failing_memory memory(k);
      cpu const w{.threads = 1, .memory = &memory};
      try {
        trsm_plan const plan(w, transposed(a), 3, {.method = m});
        trsm(w, 1.0, a, row_major(doubles(99, 1).data(), 33, 3), row_major(x.data(), 33, 3),
             {.method = m});
        EXPECT_GT(k, 2u);
        x.assign(99, 7);
        break;
      } catch (error const& e) {
        EXPECT_EQ(e.code(), errc::out_of_memory);
        EXPECT_EQ(x, doubles(99, 7));
      }
      EXPECT_EQ(memory.outstanding(), 0u);
    }
}

} // namespace
} // namespace tulle::test::trsm_test
