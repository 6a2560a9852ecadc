// SPDX-License-Identifier: Apache-2.0

// Products with the conjugate transpose on the device, against those of the reference: integers,
// exact in any order.
#include "tulle/op/convert.hpp"
#include "tulle/op/spmm.hpp"

#include "device/under_test.hpp"
#include "support/expect.hpp"
#include "support/product.hpp"
#include "support/zoo.hpp"

#include <complex>
#include <gtest/gtest.h>
#include <limits>

namespace tulle::test::device_adjoint_test {
namespace {

using c64 = std::complex<double>;

csr<c64> matrix(csr<double> const& a) {
  return *as_type(a, type_tag::c64_i32).get_if<csr<c64>>();
}
std::vector<c64> vector(std::size_t n, unsigned seed) {
  return std::get<std::vector<c64>>(to_dense(type_tag::c64_i32, integers(n, seed)).values);
}

TEST(device_adjoint, multiplies_as_on_the_host) {
  c64 const alpha(2, -1), beta(-1, 3);
  own_queue const s;
  for (animal const& one : zoo()) {
    csr<c64> const a = matrix(one.matrix);
    std::vector<c64> const x = vector(static_cast<std::size_t>(a.rows), 1);
    std::vector<c64> const before = vector(static_cast<std::size_t>(a.cols), 5);
    std::vector<c64> wanted = before;
    spmv(reference{}, alpha, adjoint(a.view()), x, beta, wanted);
    there_array<c64> const in(x);
    for (format const f : {format::csr, format::csc, format::coo}) {
      device_matrix const there = put(convert(any_matrix(a), f));
      there_array<c64> y(before);
      spmv(alpha, adjoint(there), in, beta, y);
      EXPECT_EQ(from_there(y), wanted) << one.name << " " << name(f);
      EXPECT_EQ(from_there(in), x);
      spmv_plan plan(policy(s), transposed(there));
      y.copy_from(before.data());
      spmv(plan, alpha, adjoint(there), in, beta, y);
      synchronize(s);
      EXPECT_EQ(from_there(y), wanted) << one.name << " " << name(f) << " planned";
    }
  }
}

TEST(device_adjoint, of_dense_matrices_of_any_strides) {
  csr<c64> const a = matrix(find("skewed_unsorted").matrix);
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(a.cols);
  std::vector<c64> const b = vector(rows * 3, 1), before = vector(cols * 5, 3);
  device_matrix const there = put(a);
  there_array<c64> const b_there(b);
  for (bool const by_rows : {true, false}) {
    std::vector<c64> wanted = before;
    there_array<c64> c(before);
    if (by_rows) {
      spmm(reference{}, c64(0, 1), adjoint(a), row_major(b.data(), rows, 3), 2.0,
           row_major(wanted.data(), cols, 3, 5));
      spmm(c64(0, 1), adjoint(there), row_major<space_there>(b_there.data(), rows, 3), 2.0,
           row_major<space_there>(c.data(), cols, 3, 5));
    } else {
      spmm(reference{}, c64(0, 1), adjoint(a), col_major(b.data(), rows, 3), 2.0,
           col_major(wanted.data(), cols, 3));
      spmm(c64(0, 1), adjoint(there), col_major<space_there>(b_there.data(), rows, 3), 2.0,
           col_major<space_there>(c.data(), cols, 3));
    }
    EXPECT_EQ(from_there(c), wanted) << (by_rows ? "rows" : "columns");
  }
}

TEST(device_adjoint, does_not_read_what_has_no_part_and_leaves_y_where_it_fails) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  csr<c64> const a = matrix(find("skewed_unsorted").matrix);
  device_matrix const there = put(a);
  there_array<c64> const x(vector(static_cast<std::size_t>(a.rows), 1)),
      nans(std::vector<c64>(x.size(), {nan, nan}));
  there_array<c64> y(std::vector<c64>(static_cast<std::size_t>(a.cols), {nan, nan}));
  spmv(0.0, adjoint(there), nans, 0.0, y);
  EXPECT_EQ(from_there(y), std::vector<c64>(y.size()));
  std::vector<c64> const before = vector(y.size(), 2);
  y.copy_from(before.data());
  there_array<c64> const longer(x.size() + 1);
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"spmv (adjoint)"},
                         [&] { spmv(1.0, adjoint(there), longer, 0.0, y); }));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"workspace", "limit is 1"}, [&] {
    spmv(policy{.workspace_limit = 1}, 1.0, adjoint(there), x, 0.0, y);
  }));
  EXPECT_TRUE(fails_with(errc::out_of_memory, {"workspace"}, [&] {
    spmv(policy{.workspace_limit = x.bytes()}, 1.0, adjoint(there), x, 0.0, y);
  }));
  EXPECT_EQ(from_there(y), before);
}

} // namespace
} // namespace tulle::test::device_adjoint_test
