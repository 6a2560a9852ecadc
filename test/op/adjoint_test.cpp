// SPDX-License-Identifier: Apache-2.0

// Products with the conjugate transpose, against sums over the entries.
#include "tulle/core/any_matrix.hpp"
#include "tulle/format/formats.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmm.hpp"
#include "tulle/op/transpose.hpp"

#include "support/expect.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::adjoint_test {
namespace {

using c64 = std::complex<double>;

csr<c64> matrix(csr<double> const& a) {
  return *as_type(a, type_tag::c64_i32).get_if<csr<c64>>();
}

std::vector<c64> vector(std::size_t n, unsigned seed) {
  std::vector<double> const re = integers(n, seed), im = integers(n, seed + 1);
  std::vector<c64> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = {re[i], im[i]};
  return v;
}

/// alpha A^H x + beta y, entry by entry: integers, exact in any order.
std::vector<c64> expected(c64 alpha, csr<c64> const& a, std::vector<c64> const& x, c64 beta,
                          std::vector<c64> const& y, bool transposed = false) {
  std::vector<c64> sum(static_cast<std::size_t>(transposed ? a.rows : a.cols));
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows); ++i)
    for (auto k = static_cast<std::size_t>(a.row_ptr[i]);
         k < static_cast<std::size_t>(a.row_ptr[i + 1]); ++k) {
      auto const j = static_cast<std::size_t>(a.col[k]);
      if (transposed)
        sum[i] += std::conj(a.val[k]) * x[j];
      else
        sum[j] += std::conj(a.val[k]) * x[i];
    }
  for (std::size_t j = 0; j < sum.size(); ++j)
    sum[j] = alpha * sum[j] + beta * y[j];
  return sum;
}

TEST(adjoint, multiplies_as_the_conjugate_transpose) {
  c64 const alpha(2, -1), beta(-1, 3);
  for (animal const& one : zoo()) {
    csr<c64> const a = matrix(one.matrix);
    std::vector<c64> const x = vector(static_cast<std::size_t>(a.rows), 1);
    std::vector<c64> const before = vector(static_cast<std::size_t>(a.cols), 5);
    std::vector<c64> const wanted = expected(alpha, a, x, beta, before);
    for (int const threads : {1, 3}) {
      std::vector<c64> y = before;
      spmv(cpu{.threads = threads}, alpha, adjoint(a), x, beta, y);
      EXPECT_EQ(y, wanted) << one.name;
    }
    std::vector<c64> y = before;
    spmv(reference{}, alpha, adjoint(a.view()), x, beta, y);
    EXPECT_EQ(y, wanted) << one.name;
    for (format const f : {format::csr, format::csc, format::coo}) {
      any_matrix const any = convert(a, f);
      y = before;
      spmv(alpha, adjoint(any), x, beta, y);
      EXPECT_EQ(y, wanted) << one.name << " " << name(f);
    }
    spmv_plan plan(transposed(a));
    y = before;
    spmv(plan, alpha, adjoint(a), x, beta, y);
    EXPECT_EQ(y, wanted) << one.name;
  }
}

TEST(adjoint, of_a_transpose_is_the_conjugate_and_of_a_multiple_conjugates_the_factor) {
  csr<c64> const a = matrix(find("skewed_unsorted").matrix);
  std::vector<c64> const x = vector(static_cast<std::size_t>(a.cols), 1);
  std::vector<c64> y(static_cast<std::size_t>(a.rows));
  spmv(1.0, adjoint(transposed(a)), x, 0.0, y);
  EXPECT_EQ(y, expected(1, a, x, 0, y, true));
  std::vector<c64> const u = vector(static_cast<std::size_t>(a.rows), 2);
  std::vector<c64> v(static_cast<std::size_t>(a.cols));
  spmv(1.0, adjoint(scaled(a, c64(2, 5))), u, 0.0, v);
  EXPECT_EQ(v, expected({2, -5}, a, u, 0, v));
}

/// f(view, factor, transposed, conjugated) for each way in which two or three views may stand on
/// one another: the view multiplies as factor times the wrapped a does.
template <class A, class F>
void each_nesting(A const& a, F&& f) {
  c64 const s(2, 5), conj_s = std::conj(s);
  f(scaled(adjoint(a), s), s, true, true);
  f(adjoint(scaled(a, s)), conj_s, true, true);
  f(transposed(adjoint(a)), c64(1), false, true);
  f(adjoint(transposed(a)), c64(1), false, true);
  f(adjoint(adjoint(a)), c64(1), false, false);
  f(conjugated(a), c64(1), false, true);
  f(conjugated(conjugated(a)), c64(1), false, false);
  f(conjugated(transposed(a)), c64(1), true, true);
  f(transposed(conjugated(a)), c64(1), true, true);
  f(conjugated(adjoint(a)), c64(1), true, false);
  f(conjugated(scaled(a, s)), conj_s, false, true);
  f(scaled(conjugated(a), s), s, false, true);
  f(scaled(transposed(a), s), s, true, false);
  f(transposed(scaled(a, s)), s, true, false);
  f(scaled(scaled(a, s), s), s * s, false, false);
  f(transposed(transposed(a)), c64(1), false, false);
  f(scaled(adjoint(scaled(a, s)), c64(0, 1)), conj_s * c64(0, 1), true, true);
}

TEST(adjoint, views_stand_on_one_another_in_any_order) {
  csr<c64> const a = matrix(find("skewed_unsorted").matrix);
  csr<c64> const t = transpose(a);
  c64 const alpha(2, -1), beta(-1, 3);
  int ways = 0;
  each_nesting(a, [&](auto const& view, c64 factor, bool is_transposed, bool is_conjugated) {
    SCOPED_TRACE(++ways);
    csr<c64> plain = is_transposed ? t : a;
    for (c64& v : plain.val)
      v = factor * (is_conjugated ? std::conj(v) : v);
    auto const rows = static_cast<std::size_t>(plain.rows);
    auto const cols = static_cast<std::size_t>(plain.cols);
    std::vector<c64> const x = vector(3 * cols, 1), before = vector(3 * rows, 4);
    std::vector<c64> const x1(x.begin(), x.begin() + plain.cols);
    std::vector<c64> wanted(before.begin(), before.begin() + plain.rows), y = wanted, z = wanted;
    spmv(reference{}, alpha, plain, x1, beta, wanted);
    spmv(alpha, view, x1, beta, y);
    EXPECT_EQ(y, wanted);
    spmv_plan plan(view);
    for (int call = 0; call < 2; ++call) {
      y = z;
      spmv(plan, alpha, view, x1, beta, y);
      EXPECT_EQ(y, wanted);
    }
    plan.check(view);
    plan.rebind(view);
    y = z;
    spmv(plan, alpha, view, x1, beta, y);
    EXPECT_EQ(y, wanted);

    std::vector<c64> c = before, d = before;
    auto const in = row_major(x.data(), cols, 3);
    spmm(reference{}, alpha, plain, in, beta, row_major(c.data(), rows, 3));
    spmm(alpha, view, in, beta, row_major(d.data(), rows, 3));
    EXPECT_EQ(d, c);
    spmm_plan columns(view, in, row_major(d.data(), rows, 3));
    for (int call = 0; call < 2; ++call) {
      d = before;
      spmm(columns, alpha, view, in, beta, row_major(d.data(), rows, 3));
      EXPECT_EQ(d, c);
    }
    columns.check(view);
  });
  EXPECT_EQ(ways, 17);
}

TEST(adjoint, a_plan_keeps_the_memory_and_says_so) {
  if (!counts_global_allocations())
    GTEST_SKIP();
  csr<c64> const a = matrix(find("skewed_unsorted").matrix);
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
  std::vector<c64> const x = vector(2 * rows, 1);
  std::vector<c64> y(2 * cols);
  failing_memory memory;
  cpu const w{.threads = 1, .memory = &memory};
  spmv_plan plan(w, adjoint(a)), other(w, transposed(a));
  spmm_plan columns(w, adjoint(a), row_major(x.data(), rows, 2), row_major(y.data(), cols, 2));
  EXPECT_NE(plan.path().find("csr adjoint"), std::string::npos) << plan.path();
  EXPECT_GE(plan.bytes(), other.bytes() + rows * sizeof(c64));
  vector_view<c64 const> const in(x.data(), rows);
  vector_view<c64> const out(y.data(), cols);
  auto const multiply = [&] {
    spmv(plan, 1.0, adjoint(a), in, 0.5, out);
    spmv(plan, 1.0, transposed(a), in, 0.5, out); // which it is for as well
    spmm(columns, 1.0, adjoint(a), row_major(x.data(), rows, 2), 0.5, row_major(y.data(), cols, 2));
  };
  multiply();
  memory.fail_at(1);
  std::size_t const before = global_allocations();
  for (int call = 0; call < 3; ++call)
    multiply();
  EXPECT_EQ(global_allocations(), before);
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"allocate"},
                         [&] { spmv(other, 1.0, adjoint(a), in, 0.5, out); }));
}

TEST(adjoint, a_plan_of_dense_operands_is_for_one_kind_of_view) {
  csr<c64> const a = matrix(find("skewed_unsorted").matrix);
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
  std::vector<c64> const x = vector(2 * rows, 1);
  std::vector<c64> y(2 * cols);
  auto const in = row_major(x.data(), rows, 2);
  auto const out = row_major(y.data(), cols, 2);
  spmm_plan plan(transposed(a), in, out);
  expect_refused(errc::shape_mismatch, {"spmm", "transposed", "adjoint"}, y,
                 [&] { spmm(plan, 1.0, adjoint(a), in, 0.0, out); });
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"workspace", "limit"}, [&] {
    spmv_plan(cpu{.workspace_limit = rows * sizeof(c64) - 1}, adjoint(a));
  }));
}

TEST(adjoint, of_real_values_is_the_transpose) {
  csr<double> const a = find("skewed_unsorted").matrix;
  static_assert(std::is_same_v<decltype(adjoint(a)), decltype(transposed(a))>);
  std::vector<double> const x = integers(static_cast<std::size_t>(a.rows), 1);
  std::vector<double> y(static_cast<std::size_t>(a.cols)), z = y;
  spmv(1.0, transposed(a), x, 0.0, y);
  any_matrix const any = a;
  spmv(1.0, adjoint(any), x, 0.0, z);
  EXPECT_EQ(z, y);
  spmv_plan plan(adjoint(any));
  spmv(plan, 1.0, adjoint(any), x, 0.0, z);
  EXPECT_EQ(z, y);
  std::vector<double> const u = integers(static_cast<std::size_t>(a.cols), 1);
  std::vector<double> v(static_cast<std::size_t>(a.rows)), w = v;
  spmv(1.0, a, u, 0.0, v);
  spmv(1.0, conjugated(any), u, 0.0, w);
  EXPECT_EQ(w, v);
}

// A slice's or block's view has a member `base`, too, and is no view of another.
static_assert(detail::plain_matrix<sell<double>> && detail::plain_matrix<bsell<double>>);
static_assert(!detail::plain_matrix<transposed_view<csr_view<double>>>);

TEST(adjoint, does_not_read_what_has_no_part) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  csr<c64> const a = matrix(find("skewed_unsorted").matrix);
  std::vector<c64> const x = vector(static_cast<std::size_t>(a.rows), 1);
  std::vector<c64> const nans(x.size(), {nan, nan});
  std::vector<c64> y(static_cast<std::size_t>(a.cols), {nan, nan});
  std::vector<c64> const zero(y.size());
  spmv(1.0, adjoint(a), x, 0.0, y);
  EXPECT_EQ(y, expected(1, a, x, 0, zero));
  spmv(0.0, adjoint(a), nans, 0.0, y);
  EXPECT_EQ(y, zero);
}

TEST(adjoint, of_dense_matrices_of_any_strides) {
  csr<c64> const a = matrix(find("skewed_unsorted").matrix);
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
  std::vector<c64> const b = vector(rows * 3, 1), before = vector(cols * 5, 3);
  for (bool const by_rows : {true, false}) {
    std::vector<c64> c = before;
    dense_view<c64 const> const in =
        by_rows ? row_major(b.data(), rows, 3) : col_major(b.data(), rows, 3);
    dense_view<c64> const out =
        by_rows ? row_major(c.data(), cols, 3, 5) : col_major(c.data(), cols, 3);
    std::vector<c64> wanted = before;
    for (std::size_t k = 0; k < 3; ++k) {
      std::vector<c64> x(rows), y(cols);
      for (std::size_t i = 0; i < rows; ++i)
        x[i] = in(i, k);
      for (std::size_t j = 0; j < cols; ++j)
        y[j] = out(j, k);
      y = expected({0, 1}, a, x, 2, y);
      for (std::size_t j = 0; j < cols; ++j)
        wanted[j * out.row_stride + k * out.col_stride] = y[j];
    }
    spmm(c64(0, 1), adjoint(a), in, 2.0, out);
    EXPECT_EQ(c, wanted) << (by_rows ? "rows" : "columns");
  }
}

TEST(adjoint, a_call_that_fails_leaves_y_as_it_was) {
  csr<c64> const a = matrix(find("skewed_unsorted").matrix);
  std::vector<c64> x = vector(static_cast<std::size_t>(a.rows), 1);
  std::vector<c64> y = vector(static_cast<std::size_t>(a.cols), 2);
  expect_refused(errc::shape_mismatch, {"spmv (adjoint)"}, y,
                 [&] { spmv(1.0, adjoint(a), std::vector<c64>(x.size() + 1), 0.0, y); });
  expect_refused(errc::out_of_memory, {"workspace", "limit is 1"}, y,
                 [&] { spmv(cpu{.workspace_limit = 1}, 1.0, adjoint(a), x, 0.0, y); });
  expect_refused(errc::bad_structure, {"overlap"}, x,
                 [&] { spmv(1.0, adjoint(a), x, 0.0, vector_view<c64>(x.data(), y.size())); });
  csr<c64> own = a; // refused after y, here the matrix's own values, was conjugated
  expect_refused(errc::bad_structure, {"overlaps the arrays of A"}, own.val, [&] {
    spmv(1.0, adjoint(own), x, 0.0, vector_view<c64>(own.val.data(), y.size()));
  });
  for (std::size_t k = 1; k < 20; ++k) {
    failing_memory memory(k);
    std::vector<c64> const before = y;
    try {
      spmv(cpu{.memory = &memory}, 1.0, adjoint(a), x, 1.0, y);
      EXPECT_GT(k, 1u);
      break;
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::out_of_memory);
      EXPECT_EQ(y, before);
      EXPECT_EQ(memory.outstanding(), 0u);
    }
  }
}

} // namespace
} // namespace tulle::test::adjoint_test
