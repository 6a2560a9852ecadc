// SPDX-License-Identifier: Apache-2.0

// Rows of the identity and Dirichlet conditions: against the reference, against what they mean, and
// as solvers and other formats see them.
#include "tulle/gen/generate.hpp"
#include "tulle/op/add.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/diagonal.hpp"
#include "tulle/op/set_rows.hpp"
#include "tulle/op/spmv.hpp"
#include "tulle/op/transpose.hpp"
#include "tulle/solve/cg.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::set_rows_test {
namespace {

using doubles = std::vector<double>;
using indices = std::vector<std::int32_t>;

csr<double> small() {
  return {3, 3, {0, 3, 5, 8}, {0, 1, 2, 0, 1, 0, 1, 2}, {4, -1, -2, -1, 5, -2, 3, 6}};
}

TEST(set_rows, is_as_on_paper) {
  for (where const& w : {where(reference{}), where(cpu{})}) {
    csr<double> a = small();
    set_rows(w, a, indices{2, 0, 2});
    EXPECT_EQ(a.val, (array<double>{1, 0, 0, -1, 5, 0, 0, 1}));
    a = small();
    set_rows(w, a, indices{2}, {.diagonal = 7, .columns = true});
    EXPECT_EQ(a.val, (array<double>{4, -1, 0, -1, 5, 0, 0, 7}));
    a = small();
    doubles b{1, 2, 3};
    dirichlet(w, a, indices{2}, doubles{10}, b);
    EXPECT_EQ(a.val, (array<double>{4, -1, 0, -1, 5, 0, 0, 1}));
    EXPECT_EQ(b, (doubles{21, 2, 10}));
    a = small();
    b = {1, 2, 3};
    dirichlet(w, a, indices{2}, doubles{10}, b, {.keep_diagonal = true, .symmetric = false});
    EXPECT_EQ(a.val, (array<double>{4, -1, -2, -1, 5, 0, 0, 6}));
    EXPECT_EQ(b, (doubles{1, 2, 60}));
  }
}

/// The zoo, made square and with something on each place of the diagonal, by twins too.
std::vector<std::pair<std::string, csr<double>>> square() {
  std::vector<std::pair<std::string, csr<double>>> all;
  for (animal const& one : zoo()) {
    csr<double> a = mirrored(one.matrix);
    a = add(1.0, a, 10.0, from_diagonal(doubles(static_cast<std::size_t>(a.rows), 1)));
    all.emplace_back(one.name + ", unsorted", unsorted(a));
    all.emplace_back(one.name + ", duplicated", duplicated(a));
    all.emplace_back(one.name, std::move(a));
  }
  return all;
}

template <class I>
std::vector<I> every_third(I rows) {
  std::vector<I> some;
  for (I i = 0; i < rows; i = static_cast<I>(i + 3))
    some.push_back(i);
  if (!some.empty())
    some.push_back(some.front());
  return some;
}

class rows_set : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(op, rows_set, testing::Range<std::size_t>(0, type_count),
                         [](auto const& info) { return name(static_cast<type_tag>(info.param)); });

TEST_P(rows_set, are_those_of_the_reference) {
  auto const type = static_cast<type_tag>(GetParam());
  visit(type, [&](auto types) {
    using T = decltype(types);
    using V = typename T::value;
    using I = typename T::index;
    using owner = csr<V, I, typename T::offset>;
    for (auto const& [name, matrix] : square()) {
      owner const a = *as_type(matrix, type).template get_if<owner>();
      auto const rows = every_third<I>(a.rows);
      std::vector<V> values(rows.size()), b(static_cast<std::size_t>(a.rows));
      for (std::size_t k = 0; k < rows.size(); ++k)
        values[k] = static_cast<V>(static_cast<float>(rows[k] % 5));
      for (std::size_t i = 0; i < b.size(); ++i)
        b[i] = static_cast<V>(static_cast<float>(i % 9));
      for (dirichlet_options<V> const& o :
           {dirichlet_options<V>{}, dirichlet_options<V>{.keep_diagonal = true},
            dirichlet_options<V>{.diagonal = V(2), .symmetric = false}}) {
        owner expected = a;
        std::vector<V> expected_b = b;
        dirichlet(reference{}, expected, rows, values, expected_b, o);
        for (int const threads : {1, 7}) {
          owner got = a;
          std::vector<V> got_b = b;
          dirichlet(cpu{.threads = threads}, got, rows, values, got_b, o);
          EXPECT_TRUE(same_arrays(got.view(), expected.view())) << name << ", " << threads;
          EXPECT_TRUE(same_bits(got_b, expected_b)) << name << ", " << threads;
        }
      }
      for (set_rows_options<V> const& o :
           {set_rows_options<V>{}, set_rows_options<V>{.diagonal = V(0), .columns = true}}) {
        owner expected = a, got = a;
        set_rows(reference{}, expected, rows, o);
        set_rows(cpu{.threads = 2}, got, rows, o);
        EXPECT_TRUE(same_arrays(got.view(), expected.view())) << name;
      }
    }
  });
}

// Integers, so that all is exact: b = A x for an x that has the values already is the right-hand
// side after it too.
TEST(dirichlet, leaves_the_solution_as_it_is) {
  for (auto const& [name, matrix] : square())
    for (bool const symmetric : {true, false}) {
      csr<double> a = matrix;
      auto const n = static_cast<std::size_t>(a.rows);
      doubles const x = integers(n, 3);
      doubles b(n), after(n);
      spmv(1.0, a, x, 0.0, b);
      auto const rows = every_third(a.rows);
      doubles values;
      for (std::int32_t const i : rows)
        values.push_back(x[static_cast<std::size_t>(i)]);
      dirichlet(cpu{.threads = 2}, a, rows, values, b, {.diagonal = 2, .symmetric = symmetric});
      EXPECT_EQ(a.row_ptr, matrix.row_ptr);
      EXPECT_EQ(a.col, matrix.col);
      spmv(1.0, a, x, 0.0, after);
      EXPECT_EQ(after, b) << name;
      if (symmetric) {
        EXPECT_EQ(transpose(a).to_csr(), a.to_csr()) << name;
      }
    }
}

TEST(dirichlet, keeps_the_pattern_that_other_formats_are_made_for) {
  csr<double> a = generate("poisson2d5:20");
  csr<double> const before = a;
  doubles b(400, 1);
  dirichlet(a, indices{0, 17, 399}, doubles{1, 2, 3}, b);
  doubles const x = roughs(400, 1);
  doubles expected(400), y(400);
  spmv(1.0, a, x, 0.0, expected);
  for_each_format(before, [&](any_matrix m) {
    m.refill(any_matrix(a));
    spmv(1.0, m, x, 0.0, y);
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_NEAR(y[i], expected[i], 1e-12) << name(m.format()) << ", row " << i;
  });
}

TEST(dirichlet, makes_a_system_that_cg_solves) {
  csr<double> a = generate("poisson2d5:30");
  doubles b(900, 1), x(900, 0);
  indices const rows{0, 31, 450, 899};
  doubles const values{1, -2, 3, 0};
  dirichlet(a, rows, values, b, {.keep_diagonal = true});
  EXPECT_TRUE(cg(a, b, x, {.tolerance = 1e-12}).converged);
  for (std::size_t k = 0; k < rows.size(); ++k)
    EXPECT_NEAR(x[static_cast<std::size_t>(rows[k])], values[k], 1e-9);
}

template <class F>
void expect_refusal(errc code, std::vector<std::string> const& words, F&& f) {
  for (where const& w : {where(cpu{}), where(reference{})}) {
    csr<double> a = small();
    doubles b{1, 2, 3};
    EXPECT_TRUE(fails_with(code, words, [&] { f(w, a, b); }));
    EXPECT_EQ(a, small());
    EXPECT_EQ(b, (doubles{1, 2, 3}));
  }
}

TEST(set_rows_refuses, rows_that_it_cannot_set) {
  using matrix = csr<double>;
  using w = where const&;
  expect_refusal(errc::bad_structure, {"set_rows", "rows[1] is 3", "[0, 3)"},
                 [](w p, matrix& a, doubles&) {
                   set_rows(p, a, indices{0, 3});
                 });
  expect_refusal(errc::bad_structure, {"dirichlet", "rows[0] is -1"},
                 [](w p, matrix& a, doubles& b) { dirichlet(p, a, indices{-1}, doubles{1}, b); });
  expect_refusal(errc::bad_structure, {"dirichlet", "row 1 is given two values, 1", "and 2"},
                 [](w p, matrix& a, doubles& b) {
                   dirichlet(p, a, indices{1, 0, 1}, doubles{1, 1, 2}, b);
                 });
  expect_refusal(errc::shape_mismatch, {"dirichlet", "2 rows but 1 values"},
                 [](w p, matrix& a, doubles& b) {
                   dirichlet(p, a, indices{1, 0}, doubles{1}, b);
                 });
  expect_refusal(errc::shape_mismatch, {"dirichlet", "b has 2 entries", "3 rows"},
                 [](w p, matrix& a, doubles& b) {
                   dirichlet(p, a, indices{1}, doubles{1}, vector_view<double>(b.data(), 2));
                 });
  expect_refusal(errc::bad_structure, {"dirichlet", "b is null"}, [](w p, matrix& a, doubles&) {
    dirichlet(p, a, indices{1}, doubles{1}, vector_view<double>(nullptr, 3));
  });
  expect_refusal(errc::bad_structure, {"dirichlet", "diagonal of 0"},
                 [](w p, matrix& a, doubles& b) {
                   dirichlet(p, a, indices{1}, doubles{1}, b, {.diagonal = 0});
                 });
  expect_refusal(errc::bad_structure, {"dirichlet", "b overlaps the arrays of A"},
                 [](w p, matrix& a, doubles&) {
                   dirichlet(p, a, indices{1}, doubles{1}, vector_view<double>(a.val.data(), 3));
                 });
  expect_refusal(errc::bad_structure, {"dirichlet", "given values overlap those of A"},
                 [](w p, matrix& a, doubles& b) {
                   dirichlet(p, a, indices{1}, std::span<double const>(a.val.data(), 1), b);
                 });
  expect_refusal(errc::bad_structure, {"dirichlet", "b overlaps the rows or the values"},
                 [](w p, matrix& a, doubles& b) {
                   dirichlet(p, a, indices{1}, std::span<double const>(b.data(), 1), b);
                 });
  expect_refusal(errc::unsupported, {"set_rows", "cuda"}, [](w, matrix& a, doubles&) {
    where on;
    on.backend = backend::cuda;
    set_rows(on, a, indices{1});
  });
  expect_refusal(errc::out_of_memory, {"dirichlet", "27 bytes", "26"},
                 [](w, matrix& a, doubles& b) {
                   dirichlet(cpu{.workspace_limit = 26}, a, indices{1}, doubles{1}, b);
                 });
}

TEST(set_rows_refuses, a_row_without_an_entry_on_the_diagonal) {
  csr<double> const a(3, 4, {0, 2, 3, 5}, {0, 1, 2, 2, 2}, {1, 2, 3, 4, -4});
  for (where const& w : {where(cpu{}), where(cpu{.threads = 7}), where(reference{})}) {
    csr<double> c = a;
    EXPECT_TRUE(
        fails_with(errc::bad_structure, {"set_rows", "row 1 has no entry on the diagonal"}, [&] {
          set_rows(w, c, indices{0, 1, 2});
        }));
    EXPECT_EQ(c, a);
    set_rows(w, c, indices{1}, {.diagonal = 0});
    EXPECT_EQ(c.val, (array<double>{1, 2, 0, 4, -4}));
    c = a;
    set_rows(w, c, indices{2}); // the first of the two
    EXPECT_EQ(c.val, (array<double>{1, 2, 3, 1, 0}));
    doubles b(3);
    EXPECT_TRUE(fails_with(errc::shape_mismatch, {"dirichlet", "3 x 4", "not square"},
                           [&] { dirichlet(w, c, indices{0}, doubles{1}, b); }));
    csr<double> zero(1, 1, {0, 2}, {0, 0}, {4, -4});
    doubles one{5};
    EXPECT_TRUE(fails_with(errc::bad_structure, {"diagonal entry of row 0 is 0", "kept"}, [&] {
      dirichlet(w, zero, indices{0}, doubles{1}, one, {.keep_diagonal = true});
    }));
    EXPECT_EQ(one, (doubles{5}));
  }
}

TEST(dirichlet, leaves_everything_as_it_was_where_memory_ends) {
  for (std::size_t k = 1;; ++k) {
    failing_memory memory(k);
    csr<double> a = small();
    doubles b{1, 2, 3};
    try {
      dirichlet(cpu{.threads = 1, .memory = &memory}, a, indices{2}, doubles{10}, b);
      EXPECT_GT(k, 2u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
      EXPECT_EQ(a, small());
      EXPECT_EQ(b, (doubles{1, 2, 3}));
    }
    EXPECT_EQ(memory.outstanding(), 0u);
  }
}

} // namespace
} // namespace tulle::test::set_rows_test
