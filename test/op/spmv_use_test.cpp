// SPDX-License-Identifier: Apache-2.0

// spmv as it is called: the reference on paper, owners, views over the caller's arrays, wrappers,
// many threads at once.
#include "tulle/format/coo.hpp"
#include "tulle/format/csc.hpp"
#include "tulle/op/convert.hpp"
#include "tulle/op/spmv.hpp"

#include "support/expect.hpp"
#include "support/layouts.hpp"
#include "support/zoo.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <thread>

namespace tulle::test::spmv_use_test {
namespace {

using doubles = std::vector<double>;
using complex = std::complex<double>;

//     1 . 2 .
//     . 3 . .
//     . . . 4
//     5 6 7 .
csr<double> example() {
  return {4, 4, {0, 2, 3, 4, 7}, {0, 2, 1, 3, 0, 1, 2}, {1, 2, 3, 4, 5, 6, 7}};
}

TEST(spmv_reference, on_paper) {
  doubles const x = {1, 10, 100, 1000};
  doubles y = {1, 2, 3, 4};
  spmv(reference{}, 1.0, example(), x, 0.0, y);
  EXPECT_EQ(y, (doubles{201, 30, 4000, 765}));
  y = {1, 2, 3, 4};
  spmv(reference{}, 2.0, example(), x, -1.0, y);
  EXPECT_EQ(y, (doubles{401, 58, 7997, 1526}));
  y = {1, 2, 3, 4};
  csr<double> const a = example();
  spmv(reference{}, 1.0, transposed(a), x, 1.0, y);
  EXPECT_EQ(y, (doubles{5002, 6032, 7005, 404}));
}

TEST(spmv_reference, on_paper_complex) {
  csr<complex> const a(2, 2, {0, 2, 3}, {0, 1, 1}, {{1, 2}, {0, 1}, {3, -1}});
  std::vector<complex> const x = {{1, 1}, {2, 0}};
  std::vector<complex> y = {{1, 0}, {0, 1}};
  // row 0: (1+2i)(1+i) + i*2 = -1+3i + 2i; row 1: (3-i)*2
  spmv(reference{}, complex(0, 1), a, x, complex(2, 0), y);
  EXPECT_EQ(y, (std::vector<complex>{{-3, -1}, {2, 8}})); // i(-1+5i) + 2, i(6-2i) + 2i
  spmv(reference{}, complex(1, 0), transposed(a), x, complex(0, 0), y); // not conjugated
  EXPECT_EQ(y, (std::vector<complex>{{-1, 3}, {5, -1}}));               // i(1+i) + (3-i)2
}

// Kirk & Hwu, figures 10.3 to 10.7, 10.10 and 10.14: A X + Y of their small example, which they
// write as loops over csr, ell and coo.
TEST(spmv, kirk_hwu_figure_10_3_in_every_layout) {
  csr<double> const a(4, 4, {0, 2, 2, 5, 7}, {0, 2, 1, 2, 3, 0, 3}, {3, 1, 2, 4, 1, 1, 1});
  for_each_layout(any_matrix(a), [](std::string const& layout, any_matrix const& b) {
    doubles const x = {1, 2, 3, 4};
    doubles y = {10, 20, 30, 40};
    spmv(1.0, b, x, 1.0, y);
    EXPECT_EQ(y, (doubles{16, 20, 50, 45})) << layout;
  });
}

TEST(spmv, default_policy_and_every_owner) {
  doubles const x = {1, 10, 100, 1000};
  doubles const expected = {201, 30, 4000, 765};
  auto const a = example();
  doubles y(4);
  spmv(1.0, a, x, 0.0, y);
  EXPECT_EQ(y, expected);
  y = doubles(4);
  spmv(1.0, csc<double>::from_csr(a.view()), x, 0.0, y);
  EXPECT_EQ(y, expected);
  y = doubles(4);
  spmv(1.0, coo<double>::from_csr(a.view()), x, 0.0, y);
  EXPECT_EQ(y, expected);
  y = doubles(4);
  spmv(1.0, any_matrix(a), x, 0.0, y);
  EXPECT_EQ(y, expected);
  array<double> owned(4, 0.0);
  spmv(1, a.view(), x, 0, owned); // integers as scalars are the matrix's type
  EXPECT_TRUE(same_bits(owned, expected));
}

TEST(spmv, multiplies_the_callers_own_vectors_without_a_copy) {
  std::vector<std::int64_t> const ptr = {0, 2, 3};
  std::vector<std::int32_t> const col = {2, 0, 1};
  std::vector<float> val = {1, 2, 3};
  csr_view<float, std::int32_t, std::int64_t> const a(2, 3, ptr, col, val);
  std::vector<float> const x = {1, 10, 100};
  std::vector<float> y(2);
  spmv(1.f, a, x, 0.f, y);
  EXPECT_EQ(y, (std::vector<float>{102, 30}));
  val[0] = 5; // seen through the view
  spmv(1.f, a, x, 0.f, y);
  EXPECT_EQ(y, (std::vector<float>{502, 30}));
}

TEST(spmv, scaled_and_transposed_in_any_order) {
  auto const a = example();
  doubles const x = {1, 10, 100, 1000};
  doubles const plain = {201, 30, 4000, 765};
  doubles const turned = {5001, 6030, 7002, 400};
  auto const times = [](double s, doubles v) {
    for (double& e : v)
      e *= s;
    return v;
  };
  auto const product = [&](auto const& m) {
    doubles y(4, 3), planned(4, 3), by_reference(4, 3);
    spmv(2.0, m, x, 0.0, y);
    spmv_plan plan(m);
    spmv(plan, 2.0, m, x, 0.0, planned);
    spmv(reference{}, 2.0, m, x, 0.0, by_reference);
    EXPECT_EQ(y, planned);
    EXPECT_EQ(y, by_reference);
    return y;
  };
  EXPECT_EQ(product(a), times(2, plain));
  EXPECT_EQ(product(transposed(a)), times(2, turned));
  EXPECT_EQ(product(scaled(a, 3.0)), times(6, plain));
  EXPECT_EQ(product(transposed(scaled(a, 3.0))), times(6, turned));
  EXPECT_EQ(product(scaled(transposed(a), 3.0)), times(6, turned));
  EXPECT_EQ(product(scaled(scaled(a, 3.0), 5.0)), times(30, plain));
  EXPECT_EQ(product(scaled(transposed(scaled(a, 3.0)), 5.0)), times(30, turned));
  EXPECT_EQ(product(transposed(transposed(a))), times(2, plain));
  any_matrix const any = a;
  EXPECT_EQ(product(transposed(any)), times(2, turned));
  auto const by_columns = csc<double>::from_csr(a.view());
  EXPECT_EQ(product(scaled(by_columns, -1.0)), times(-2, plain));
}

// A factor of zero is an alpha of zero: A is not read.
TEST(spmv, scaled_by_zero_reads_nothing) {
  csr<double> a = example();
  a.val[0] = std::numeric_limits<double>::quiet_NaN();
  doubles const x = {1, 10, 100, 1000};
  doubles y(4, 3);
  spmv(1.0, scaled(a, 0.0), x, 2.0, y);
  EXPECT_EQ(y, doubles(4, 6));
}

TEST(spmv, one_matrix_from_many_threads_at_once) {
  for_each_layout(any_matrix(rough(find("skewed").matrix)), [](auto const& name, auto const& a) {
    doubles const x = roughs(a.cols(), 1);
    doubles const xt = roughs(a.rows(), 2);
    doubles expected(a.rows()), expected_t(a.cols());
    spmv(1.0, a, x, 0.0, expected);
    spmv(1.0, transposed(a), xt, 0.0, expected_t);
    std::vector<std::thread> threads;
    std::vector<int> wrong(6, 0);
    for (std::size_t t = 0; t < wrong.size(); ++t)
      threads.emplace_back([&, t] {
        cpu const w{.threads = static_cast<int>(t % 3) + 1};
        for (int run = 0; run < 5; ++run) {
          doubles y(a.rows()), yt(a.cols());
          spmv(w, 1.0, a, x, 0.0, y);
          spmv(w, 1.0, transposed(a), xt, 0.0, yt);
          wrong[t] += !same_bits(y, expected) + !same_bits(yt, expected_t);
        }
      });
    for (std::thread& t : threads)
      t.join();
    EXPECT_EQ(wrong, std::vector<int>(6, 0)) << name;
  });
}

// OpenMP then gives fewer threads than were asked for, or threads below threads.
TEST(spmv, from_inside_a_parallel_region) {
  for (int const levels : {1, 2}) {
    int const before = omp_get_max_active_levels();
    omp_set_max_active_levels(levels);
    any_matrix const skewed(rough(find("skewed").matrix));
    for_each_layout(skewed, [&](auto const& name, auto const& a) {
      doubles const x = roughs(a.cols(), 1);
      doubles const xt = roughs(a.rows(), 2);
      doubles expected(a.rows()), expected_t(a.cols());
      spmv(cpu{.threads = 3}, 1.0, a, x, 0.0, expected);
      spmv(cpu{.threads = 3}, 1.0, transposed(a), xt, 0.0, expected_t);
      int wrong = 0;
#pragma omp parallel num_threads(3) reduction(+ : wrong)
      {
        doubles y(a.rows()), yt(a.cols());
        spmv(cpu{.threads = 3}, 1.0, a, x, 0.0, y);
        spmv(cpu{.threads = 3}, 1.0, transposed(a), xt, 0.0, yt);
        wrong += !same_bits(y, expected) + !same_bits(yt, expected_t);
      }
      EXPECT_EQ(wrong, 0) << name << " levels " << levels;
    });
    omp_set_max_active_levels(before);
  }
}

} // namespace
} // namespace tulle::test::spmv_use_test
