// SPDX-License-Identifier: Apache-2.0
// An Eigen user: tulle multiplies what Eigen holds, and refuses a row that has gaps.
// prints: the same as Eigen's, M.row\(1\): .*
#include <cstdio>
#include <tulle/interop/eigen.hpp>
#include <tulle/tulle.hpp>

int main() {
  Eigen::SparseMatrix<double, Eigen::RowMajor> a(50, 50);
  for (int i = 0; i < 50; ++i)
    for (int const j : {i, (7 * i + 3) % 50})
      a.coeffRef(i, j) += 1 + i % 5;
  a.makeCompressed();
  Eigen::VectorXd const x = Eigen::VectorXd::LinSpaced(50, 0, 49);
  Eigen::VectorXd y(50);
  tulle::spmv(1.0, tulle::from_eigen(a), x, 0.0, y);
  std::printf("the same as Eigen's%s, ", (y - a * x).norm() == 0 ? "" : " it is not");
  Eigen::MatrixXd const m = Eigen::MatrixXd::Ones(3, 50);
  try {
    tulle::spmv(1.0, tulle::from_eigen(a), m.row(1), 0.0, y);
  } catch (tulle::error const& e) {
    std::printf("M.row(1): %s\n", e.what());
  }
}
