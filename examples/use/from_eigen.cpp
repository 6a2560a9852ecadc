// SPDX-License-Identifier: Apache-2.0
// The code of docs/use/from-eigen.md.
#include <cstdio>
#include <tulle/interop/eigen.hpp>
#include <tulle/tulle.hpp>

int main() {
  // [borrow]
  Eigen::SparseMatrix<double, Eigen::RowMajor> a(3, 3);
  a.insert(0, 0) = 2;
  a.insert(1, 2) = 3;
  a.insert(2, 1) = 4;
  a.makeCompressed();
  Eigen::VectorXd x = Eigen::VectorXd::Ones(3), y(3);

  tulle::spmv(1.0, tulle::from_eigen(a), x, 0.0, y); // y = a * x; nothing is copied
  // [/borrow]

  // [keep]
  tulle::any_matrix const fast = tulle::optimize(tulle::from_eigen(a), {.calls = 1000});
  tulle::spmv_plan plan(fast);
  tulle::spmv(plan, 1.0, fast, x, 0.0, y);
  // [/keep]

  // [products]
  tulle::csr<double> const c = tulle::spgemm(tulle::from_eigen(a), tulle::from_eigen(a)); // a * a
  auto const map = tulle::to_eigen(c);                                                    // a Map
  Eigen::VectorXd const z = map * x;

  Eigen::MatrixXd many = Eigen::MatrixXd::Ones(3, 4), out(3, 4);
  tulle::spmm(1.0, tulle::from_eigen(a), tulle::from_eigen(many), 0.0, tulle::from_eigen(out));
  // [/products]
  std::printf("%g %g %g, %g, %g\n", y[0], y[1], y[2], z[0], out(1, 3));
}
