// SPDX-License-Identifier: Apache-2.0

// Conjugate gradients: what they find, how they stop, what they refuse, and that a refusal leaves x
// as it was.
#include "tulle/format/coo.hpp"
#include "tulle/gen/generate.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/solve/cg.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/memory.hpp"
#include "support/zoo.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::cg_test {
namespace {

using doubles = std::vector<double>;
using words = std::vector<std::string>;

// A symmetric matrix made positive definite: the diagonal outweighs its row.
csr<double> definite(csr<double> a) {
  for (std::int32_t i = 0; i < a.rows; ++i) {
    double sum = 1;
    for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      sum += a.col[k] == i ? 0 : std::abs(a.val[k]);
    for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      if (a.col[k] == i)
        a.val[k] = sum;
  }
  return a;
}

// S A S, S a diagonal of 1 to 1000 in no order.
csr<double> badly_scaled(csr<double> a) {
  auto const s = [](std::int32_t i) { return std::pow(10.0, i * 37 % 100 / 33.0); };
  for (std::int32_t i = 0; i < a.rows; ++i)
    for (std::int32_t k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
      a.val[k] *= s(i) * s(a.col[k]);
  return a;
}

csr<float> to_float(csr<double> const& a) {
  array<float> val(a.val.size());
  std::copy(a.val.begin(), a.val.end(), val.begin());
  return {a.rows, a.cols, a.row_ptr, a.col, std::move(val)};
}

template <class A, class V>
std::vector<V> times(A const& a, std::vector<V> const& x) {
  std::vector<V> y(x.size());
  spmv(reference{}, V(1), a, x, V(0), y);
  return y;
}

template <class V>
double norm(std::vector<V> const& v) {
  double sum = 0;
  for (V const& e : v)
    sum += std::norm(e);
  return std::sqrt(sum);
}

template <class A, class V>
double true_residual(A const& a, std::vector<V> const& b, std::vector<V> const& x) {
  std::vector<V> r = times(a, x);
  for (std::size_t i = 0; i < r.size(); ++i)
    r[i] = b[i] - r[i];
  return norm(r) / norm(b);
}

double distance(doubles const& a, doubles const& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

csr<double> two_by_two() {
  return {2, 2, {0, 2, 4}, {0, 1, 0, 1}, {4, 1, 1, 3}};
}

// 4 1  x = 1    from x = 2:   r = -8,  alpha = 73 / 331,  x = 0.2356   then exact:  1/11
// 1 3      2             1        -3                          0.3384                7/11
TEST(cg, takes_the_steps_that_paper_does) {
  auto const a = two_by_two();
  doubles const b{1, 2};
  doubles x{2, 1};
  cg_result r = cg(a, b, x, {.most_iterations = 1});
  EXPECT_EQ(r.iterations, 1u);
  EXPECT_FALSE(r.converged);
  EXPECT_NEAR(x[0], 2 - 8 * 73.0 / 331, 1e-15);
  EXPECT_NEAR(x[1], 1 - 3 * 73.0 / 331, 1e-15);
  x = {2, 1};
  r = cg(a, b, x, {.tolerance = 1e-14});
  EXPECT_TRUE(r.converged);
  EXPECT_EQ(r.iterations, 2u);
  EXPECT_NEAR(x[0], 1.0 / 11, 1e-15);
  EXPECT_NEAR(x[1], 7.0 / 11, 1e-15);
}

TEST(cg, finds_a_known_answer_in_every_format) {
  for (csr<double> const& csr : {generate("poisson2d5:40"), definite(generate("fem:900"))})
    for (format const f : all_formats)
      for (bool const jacobi : {false, true}) {
        any_matrix const a = convert(any_matrix(csr), f);
        doubles const answer = roughs(a.rows(), 3);
        doubles const b = times(a, answer);
        doubles x(a.rows(), 0);
        cg_result const r = cg(a, b, x, {.tolerance = 1e-12, .jacobi = jacobi});
        EXPECT_TRUE(r.converged) << name(f);
        EXPECT_LE(r.true_residual, 1e-12);
        EXPECT_NEAR(r.true_residual, true_residual(a, b, x), 1e-15);
        EXPECT_LT(distance(x, answer), 1e-9) << name(f);
        EXPECT_NE(r.path.find(name(f)), std::string::npos) << r.path;
        EXPECT_GE(r.seconds, r.iteration_seconds);
        EXPECT_EQ(r.vector_bytes, (jacobi ? 14u : 12u) * 8 * a.rows());
      }
}

TEST(cg, finds_it_in_float) {
  csr<float> const csr = to_float(definite(generate("fem:900")));
  for (format const f : all_formats) {
    any_matrix const a = convert(any_matrix(csr), f);
    std::vector<float> b(a.rows(), 1), x(a.rows(), 0);
    cg_result const r = cg(a, b, x);
    EXPECT_TRUE(r.converged) << name(f);
    EXPECT_EQ(r.tolerance, 1e-5);
    EXPECT_NEAR(true_residual(a, b, x), r.true_residual, 1e-6);
  }
}

TEST(cg, finds_it_for_every_type) {
  csr<double> const plain = definite(generate("banded:400:3"));
  for (type_tag const t : {type_tag::f32_i64, type_tag::f64_i64, type_tag::f32_i32_i64}) {
    any_matrix const a = as_type(plain, t);
    visit(t, [&](auto types) {
      std::vector<typename decltype(types)::value> b(a.rows(), 1), x(a.rows(), 0);
      EXPECT_TRUE(cg(a, b, x).converged) << name(t);
      EXPECT_LE(true_residual(a, b, x), 1.1e-5);
    });
  }
}

// 5 on the diagonal, -1 + 0.3 i above it, -1 - 0.3 i below.
template <class R>
csr<std::complex<R>> hermitian() {
  using V = std::complex<R>;
  csr<double> const p = generate("poisson2d5:30");
  array<V> val(p.val.size());
  for (std::int32_t i = 0; i < p.rows; ++i)
    for (std::int32_t k = p.row_ptr[i]; k < p.row_ptr[i + 1]; ++k)
      val[k] = p.col[k] == i ? V(5) : V(-1, p.col[k] > i ? R(0.3) : R(-0.3));
  return {p.rows, p.cols, p.row_ptr, p.col, std::move(val)};
}

TEST(cg, solves_hermitian_matrices) {
  auto const a = hermitian<double>();
  std::vector<std::complex<double>> b(900, {1, -2}), x(900);
  for (bool const jacobi : {false, true}) {
    x.assign(900, 0);
    EXPECT_TRUE(cg(a, b, x, {.jacobi = jacobi}).converged);
    EXPECT_LE(true_residual(a, b, x), 1.0001e-8);
  }
  auto const f = hermitian<float>();
  std::vector<std::complex<float>> bf(900, {1, -2}), xf(900);
  EXPECT_TRUE(cg(f, bf, xf).converged);
}

TEST(cg, takes_views_and_runs_on_the_reference) {
  auto const a = generate("poisson2d5:12");
  doubles const answer = roughs(144, 5);
  doubles const b = times(a, answer);
  doubles x(144), half(144), turned(144), plain(144);
  EXPECT_TRUE(cg(a.view(), b, x, {.tolerance = 1e-12}).converged);
  EXPECT_LT(distance(x, answer), 1e-10);
  EXPECT_TRUE(cg(scaled(a, 2.0), b, half, {.tolerance = 1e-12, .jacobi = true}).converged);
  for (double& v : half)
    v *= 2;
  EXPECT_LT(distance(half, answer), 1e-10);
  EXPECT_TRUE(cg(cpu{.threads = 2}, transposed(a), b, turned, {.tolerance = 1e-12}).converged);
  EXPECT_LT(distance(turned, answer), 1e-10);
  cg_result const r = cg(reference{}, coo<double>::from_csr(a.view()), b, plain);
  EXPECT_TRUE(r.converged);
  EXPECT_EQ(r.path, "reference, coo through csr");
}

// Unsorted rows and entries in two pieces are the same matrix, its diagonal too.
TEST(cg, takes_rows_in_any_order) {
  auto const a = badly_scaled(generate("poisson2d5:15"));
  doubles const b(225, 1);
  doubles x(225), y(225);
  EXPECT_TRUE(cg(unsorted(duplicated(a)), b, x, {.jacobi = true}).converged);
  EXPECT_LE(true_residual(a, b, x), 1.0001e-8);
}

template <class V>
void expect_same_bits(any_matrix const& a, bool jacobi, std::size_t iterations) {
  std::vector<V> const b(a.rows(), V(1));
  std::vector<V> first;
  cg_result expected;
  for (int const threads : {1, 2, 3, 7}) {
    std::vector<V> x(a.rows(), V(0));
    cg_result const r =
        cg(cpu{.threads = threads}, a, b, x, {.most_iterations = iterations, .jacobi = jacobi});
    if (threads == 1) {
      first = x;
      expected = r;
    }
    EXPECT_TRUE(same_bits(x, first)) << r.path;
    EXPECT_EQ(r.iterations, expected.iterations);
    EXPECT_EQ(r.residual, expected.residual);
    EXPECT_EQ(r.true_residual, expected.true_residual);
  }
}

TEST(cg, has_the_same_bits_for_every_number_of_threads) {
  csr<double> const a = definite(generate("banded:70001:2")); // not a multiple of anything
  csr<double> const small = definite(generate("fem:999"));
  for (format const f : all_formats)
    for (bool const jacobi : {false, true}) {
      expect_same_bits<double>(convert(any_matrix(a), f), jacobi, 8);
      expect_same_bits<float>(convert(any_matrix(to_float(a)), f), jacobi, 8);
      expect_same_bits<double>(convert(any_matrix(small), f), jacobi, 0);
    }
}

TEST(cg, jacobi_takes_bad_scaling_out) {
  auto const a = badly_scaled(generate("poisson2d5:30"));
  doubles const b(900, 1);
  doubles x(900), y(900);
  cg_result const without = cg(a, b, x);
  cg_result const with = cg(a, b, y, {.jacobi = true});
  EXPECT_TRUE(with.converged);
  EXPECT_LT(5 * with.iterations, without.iterations);
}

TEST(cg, starts_from_the_guess) {
  auto const a = generate("poisson2d5:30");
  doubles const b(900, 1);
  doubles x(900);
  cg_result const cold = cg(a, b, x);
  cg_result const again = cg(a, b, x);
  EXPECT_TRUE(again.converged);
  EXPECT_EQ(again.iterations, 0u);
  EXPECT_EQ(again.true_residual, cold.true_residual);
  EXPECT_EQ(again.residual, again.true_residual);
  EXPECT_LT(cg(a, b, x, {.tolerance = 1e-10}).iterations, cold.iterations / 2);
}

TEST(cg, needs_no_iteration_for_a_zero_b_or_nothing_at_all) {
  auto const a = generate("poisson2d5:5");
  doubles const b(25, -0.0);
  doubles x(25, 3);
  cg_result const r = cg(a, b, x);
  EXPECT_TRUE(r.converged);
  EXPECT_EQ(r.iterations, 0u);
  EXPECT_EQ(x, doubles(25, 0));
  for (format const f : all_formats) {
    doubles none;
    EXPECT_TRUE(
        cg(convert(any_matrix(csr<double>(0, 0, {0}, {}, {})), f), none, none, {.jacobi = true})
            .converged);
  }
}

TEST(cg, stops_at_the_limit_and_tells_each_iteration) {
  auto const a = generate("poisson2d5:30");
  doubles const b(900, 1);
  doubles x(900), history;
  cg_progress const record{[](void* to, std::size_t iteration, double residual) {
                             static_cast<doubles*>(to)->push_back(residual);
                             EXPECT_EQ(iteration, static_cast<doubles*>(to)->size());
                           },
                           &history};
  cg_result r = cg(a, b, x, {.most_iterations = 7, .progress = record});
  EXPECT_FALSE(r.converged);
  EXPECT_EQ(r.iterations, 7u);
  EXPECT_EQ(history.size(), 7u);
  EXPECT_EQ(history.back(), r.residual);
  EXPECT_NEAR(r.residual, r.true_residual, 1e-12);
  EXPECT_NEAR(r.true_residual, true_residual(a, b, x), 1e-12);
  EXPECT_GT(r.true_residual, r.tolerance);
}

// The recurrence goes on falling where the true residual no longer does.
TEST(cg, gives_up_where_rounding_has_the_last_word) {
  auto const a = badly_scaled(generate("poisson2d5:20"));
  doubles const b(400, 1);
  for (double const tolerance : {1e-17, 1e-300}) {
    doubles x(400);
    cg_result const r = cg(a, b, x, {.tolerance = tolerance, .most_iterations = 1000000});
    EXPECT_FALSE(r.converged);
    EXPECT_LT(r.iterations, 100000u);
    EXPECT_LT(r.true_residual, 1e-10);
    EXPECT_GT(r.true_residual, r.residual);
  }
}

TEST(cg, ends_by_what_the_callback_throws) {
  auto const a = generate("poisson2d5:30");
  doubles const b(900, 1);
  doubles x(900, 2);
  EXPECT_THROW(cg(a, b, x,
                  {.progress = {[](void*, std::size_t k, double) {
                                  if (k == 5)
                                    throw 5;
                                },
                                nullptr}}),
               int);
  EXPECT_EQ(x, doubles(900, 2));
}

TEST(cg_refuses, what_does_not_fit) {
  auto const a = two_by_two();
  csr<double> const wide(2, 3, {0, 1, 2}, {0, 1}, {1, 1});
  doubles b{1, 2}, x{5, 6}, three(3, 1);
  expect_refused(errc::shape_mismatch, {"cg", "2 x 3", "square"}, x, [&] { cg(wide, b, x); });
  expect_refused(errc::shape_mismatch, {"cg", "b has 3", "2 rows"}, x, [&] { cg(a, three, x); });
  expect_refused(errc::shape_mismatch, {"cg", "x has 3", "2 columns"}, three,
                 [&] { cg(a, b, three); });
  vector_view<double> const null(nullptr, 2);
  expect_refused(errc::bad_structure, {"b is null", "2"}, x, [&] { cg(a, null, x); });
  expect_refused(errc::bad_structure, {"x is null", "2"}, x, [&] { cg(a, b, null); });
  std::vector<float> const bf(2, 1);
  std::vector<float> xf(2, 1);
  EXPECT_TRUE(fails_with(errc::unsupported, {"cg", "f64_i32"}, [&] { cg(any_matrix(a), bf, xf); }));
  expect_refused(errc::bad_structure, {"any_matrix"}, x, [&] { cg(any_matrix(), b, x); });
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (double const t : {-1.0, nan, 1 / 0.0})
    expect_refused(errc::bad_structure, {"cg", "tolerance"}, x,
                   [&] { cg(a, b, x, {.tolerance = t}); });
  where elsewhere;
  elsewhere.backend = backend::cuda;
  expect_refused(errc::unsupported, {"cuda"}, x, [&] { cg(elsewhere, a, b, x); });
  auto gone = a;
  auto const taken = std::move(gone);
  expect_refused(errc::bad_structure, {"cg", "moved"}, x,
                 [&] { cg(gone, b, x); }); // NOLINT(bugprone-use-after-move)
}

TEST(cg_refuses, overlap) {
  doubles both{1, 2, 3, 4};
  auto const a = two_by_two();
  auto const at = [&](std::size_t i) { return vector_view<double>(both.data() + i, 2); };
  for (auto const& [b, x] : {std::pair{0, 0}, {0, 1}, {2, 1}})
    expect_refused(errc::bad_structure, {"cg", "b and x overlap"}, both,
                   [&, b = b, x = x] { cg(a, at(b), at(x)); });
  EXPECT_NO_THROW(cg(a, at(0), at(2)));
  doubles val{4, 1, 1, 3};
  std::vector<std::int32_t> const ptr{0, 2, 4}, col{0, 1, 0, 1};
  csr_view<double> const borrowed(2, 2, ptr, col, val);
  doubles const b{1, 2};
  expect_refused(errc::bad_structure, {"cg", "x overlaps", "A"}, val,
                 [&] { cg(borrowed, b, vector_view<double>(val.data() + 1, 2)); });
}

TEST(cg_refuses, what_is_not_finite) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  double const inf = std::numeric_limits<double>::infinity();
  auto const a = generate("poisson2d5:60");
  for (auto const& [bad, word] : {std::pair{nan, "nan"}, {inf, "inf"}, {-inf, "-inf"}})
    for (std::size_t const at : {0, 17, 1024, 3599}) {
      std::string const place = std::to_string(at) + "] is ";
      doubles b(3600, 1), x(3600, 2);
      b[at] = bad;
      expect_refused(errc::bad_structure, {"cg: b[", place, word}, x, [&] { cg(a, b, x); });
      b[at] = 1;
      x[at] = bad;
      expect_refused(errc::bad_structure, {"cg: x[", place, word}, x, [&] { cg(a, b, x); });
    }
  for (format const f : all_formats)
    for (double const bad : {nan, inf})
      for (double const guess : {0.0, 2.0}) {
        auto broken = a;
        std::int32_t const k = a.row_ptr[100] + 1;
        broken.val[k] = bad;
        if (!unless_refused([&] { return convert(any_matrix(broken), f); }))
          continue;
        doubles b(3600, 1), x(3600, guess);
        expect_refused(errc::bad_structure, {"cg", "row 100 ", "not finite"}, x,
                       [&] { cg(convert(any_matrix(broken), f), b, x); });
      }
}

TEST(cg_refuses, numbers_whose_squares_are_lost) {
  auto const a = two_by_two();
  doubles b{1e200, 1}, x{1, 1};
  expect_refused(errc::overflow, {"cg", "||b||^2", "inf"}, x, [&] { cg(a, b, x); });
  b = {1e-200, 0};
  expect_refused(errc::overflow, {"cg", "||b||^2", "0"}, x, [&] { cg(a, b, x); });
  b = {1, 1};
  x = {1e300, -1e300};
  expect_refused(errc::overflow, {"cg", "b - A x"}, x, [&] { cg(a, b, x); });
  csr<double> const huge(2, 2, {0, 1, 2}, {0, 1}, {1e308, 1e308});
  x = {0, 0};
  expect_refused(errc::overflow, {"cg", "inf", "iteration 1"}, x, [&] { cg(huge, b, x); });
}

TEST(cg_refuses, a_matrix_that_is_not_positive_definite) {
  doubles const b{1, 2};
  doubles x{0, 0};
  auto const refused = [&](csr<double> const& a, words const& w) {
    expect_refused(errc::bad_structure, w, x, [&] { cg(a, b, x); });
  };
  refused({2, 2, {0, 1, 2}, {0, 1}, {1, -1}},
          {"cg: the matrix is not positive definite: p^T A p = -3 in iteration 1"});
  refused({2, 2, {0, 0, 0}, {}, {}}, {"p^T A p = 0 in iteration 1"});
  refused({2, 2, {0, 1, 2}, {0, 1}, {4, -0.5}}, {"not positive definite", "in iteration 2"});
}

TEST(cg_refuses, jacobi_without_a_positive_diagonal) {
  doubles const b{1, 2};
  doubles x{3, 4};
  auto const refused = [&](csr<double> const& a, words const& w) {
    for (format const f : all_formats)
      expect_refused(errc::bad_structure, w, x,
                     [&] { cg(convert(any_matrix(a), f), b, x, {.jacobi = true}); });
  };
  refused({2, 2, {0, 2, 3}, {0, 1, 0}, {4, 1, 1}}, {"cg", "row 1 ", "no diagonal entry"});
  refused({2, 2, {0, 1, 2}, {0, 1}, {4, 0}}, {"cg", "row 1 ", "is 0"});
  refused({2, 2, {0, 1, 2}, {0, 1}, {-4, 1}}, {"cg", "row 0 ", "is -4"});
  refused({2, 2, {0, 1, 2}, {0, 1}, {NAN, 1}}, {"cg", "row 0 ", "nan"});
  refused({2, 2, {0, 1, 2}, {0, 1}, {1, 1e-310}}, {"cg", "row 1 ", "1e-310"});
  csr<std::complex<double>> const a(1, 1, {0, 1}, {0}, {{2, 1}});
  std::vector<std::complex<double>> const bc{1};
  std::vector<std::complex<double>> xc{1};
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"row 0", "2+1i"}, [&] { cg(a, bc, xc, {.jacobi = true}); }));
}

TEST(cg_refuses, a_workspace_beyond_the_limit) {
  auto const a = generate("poisson2d5:40");
  doubles const b(1600, 1);
  doubles x(1600, 0);
  std::size_t const vectors = 4 * 1600 * sizeof(double);
  expect_refused(errc::out_of_memory, {"cg", "bytes", std::to_string(vectors)}, x,
                 [&] { cg(cpu{.workspace_limit = vectors - 1}, a, b, x); });
  std::size_t const plan = spmv_plan(cpu{.threads = 2}, a).bytes();
  cpu const enough{.threads = 2, .workspace_limit = vectors + 4096 + plan};
  EXPECT_TRUE(cg(enough, a, b, x).converged);
  expect_refused(errc::out_of_memory, {"cg", "bytes"}, x,
                 [&] { cg(enough, a, b, x, {.jacobi = true}); });
}

TEST(cg_refuses, when_memory_fails_and_leaks_nothing) {
  for (format const f : all_formats) {
    any_matrix const a = convert(any_matrix(generate("poisson2d5:100")), f);
    doubles const b(10000, 1);
    doubles x(10000, 0.5);
    failing_memory memory;
    cpu const w{.threads = 2, .memory = &memory};
    cg_options const few{.most_iterations = 2, .jacobi = true};
    doubles y = x;
    cg(w, a, b, y, few);
    std::size_t const allocations = memory.allocations();
    EXPECT_GE(allocations, 6u);
    EXPECT_EQ(memory.outstanding(), 0u);
    for (std::size_t k = 1; k <= allocations; ++k) {
      memory.fail_at(k);
      expect_refused(errc::out_of_memory, {"bytes"}, x, [&] { cg(w, a, b, x, few); });
      EXPECT_EQ(memory.outstanding(), 0u) << k;
    }
  }
}

TEST(cg, allocates_nothing_in_an_iteration) {
  if (!counts_global_allocations())
    GTEST_SKIP() << "the sanitizer has operator new";
  for (format const f : all_formats)
    for (bool const jacobi : {false, true}) {
      any_matrix const a = convert(any_matrix(generate("poisson2d5:200")), f);
      doubles const b(40000, 1);
      auto const allocations = [&](std::size_t iterations) {
        doubles x(40000);
        std::size_t const before = global_allocations();
        cg(cpu{.threads = 2}, a, b, x, {.most_iterations = iterations, .jacobi = jacobi});
        return global_allocations() - before;
      };
      allocations(1); // threads start
      std::size_t const few = allocations(2);
      EXPECT_GT(few, 0u) << "the counter does not count";
      EXPECT_EQ(allocations(40), few) << name(f);
    }
}

} // namespace
} // namespace tulle::test::cg_test
