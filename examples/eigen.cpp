// SPDX-License-Identifier: Apache-2.0
// Matrices of Eigen in products of tulle and back, without a copy. Vectors are taken as they are.
#include <cstdio>
#include <tulle/interop/eigen.hpp>
#include <tulle/tulle.hpp>

int main() {
  Eigen::SparseMatrix<double, Eigen::RowMajor> a(4, 4);
  for (int i = 0; i < 4; ++i)
    for (int const j : {i - 1, i, i + 1})
      a.coeffRef(i, (j + 4) % 4) = i == j ? 4 : -1;
  a.makeCompressed();
  Eigen::VectorXd const x = Eigen::VectorXd::Unit(4, 0);
  Eigen::VectorXd y(4);
  tulle::spmv(1.0, tulle::from_eigen(a), x, 0.0, y);
  std::printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);

  tulle::csr<double> const b = tulle::from_eigen(a).to_csr(); // a matrix of its own
  y = tulle::to_eigen(b) * x;
  std::printf("by Eigen: %g %g %g %g\n", y[0], y[1], y[2], y[3]);

  Eigen::MatrixXd const m = Eigen::MatrixXd::Identity(4, 4);
  try {
    tulle::spmv(1.0, b, m.row(0), 0.0, y); // a row is scattered over the columns
  } catch (tulle::error const& e) {
    std::printf("%s: %s\n", name(e.code()), e.what());
  }
}
