// SPDX-License-Identifier: Apache-2.0

// Matrices of Eigen as ours and back: the same memory, and the products that Eigen has.
#include "tulle/gen/generate.hpp"
#include "tulle/interop/eigen.hpp"
#include "tulle/op/spmm.hpp"
#include "tulle/op/spmv.hpp"

#include "support/expect.hpp"
#include "support/zoo.hpp"

#include <complex>
#include <gtest/gtest.h>

namespace tulle::test::eigen_test {
namespace {

template <class Sparse>
Sparse sparse() {
  Sparse a(3, 4);
  for (int i = 0; i < 3; ++i)
    for (int j = i % 2; j < 4; j += 2)
      a.insert(i, j) = 10 * i + j + 1;
  a.makeCompressed();
  return a;
}

template <class Sparse>
void expect_products() {
  using V = typename Sparse::Scalar;
  Sparse const a = sparse<Sparse>();
  auto const view = from_eigen(a);
  EXPECT_NO_THROW(view.validate());
  EXPECT_EQ(view.val, a.valuePtr()) << "not a copy";
  EXPECT_EQ(static_cast<void const*>(view.nnz ? &view.val[0] : nullptr), a.valuePtr());
  Eigen::Matrix<V, Eigen::Dynamic, 1> const x = Eigen::Matrix<V, 4, 1>(1, 2, 3, 4);
  Eigen::Matrix<V, Eigen::Dynamic, 1> y(3), z(4);
  spmv(V(1), view, x, V(0), y);
  EXPECT_EQ(y, a * x);
  spmv(V(1), transposed(view), y, V(0), z);
  EXPECT_EQ(z, a.transpose() * y);
  auto const back = to_eigen(view);
  EXPECT_EQ(static_cast<void const*>(back.innerIndexPtr()), a.innerIndexPtr());
  EXPECT_EQ((a - back).norm(), 0);
}

TEST(from_eigen, views_sparse_matrices_of_both_orders) {
  expect_products<Eigen::SparseMatrix<double, Eigen::RowMajor>>();
  expect_products<Eigen::SparseMatrix<double, Eigen::ColMajor>>();
  expect_products<Eigen::SparseMatrix<float, Eigen::RowMajor, std::ptrdiff_t>>();
  expect_products<Eigen::SparseMatrix<float, Eigen::ColMajor, long long>>();
  expect_products<Eigen::SparseMatrix<std::complex<double>, Eigen::RowMajor>>();
  using by_rows = Eigen::SparseMatrix<double, Eigen::RowMajor>;
  static_assert(
      std::is_same_v<decltype(from_eigen(std::declval<by_rows const&>())), csr_view<double>>);
  static_assert(
      std::is_same_v<decltype(from_eigen(std::declval<Eigen::SparseMatrix<float> const&>())),
                     csc_view<float>>);
  by_rows a = sparse<by_rows>();
  Eigen::Map<by_rows const> const map(3, 4, a.nonZeros(), a.outerIndexPtr(), a.innerIndexPtr(),
                                      a.valuePtr());
  EXPECT_EQ(from_eigen(map).val, a.valuePtr());
}

TEST(from_eigen, refuses_what_is_not_compressed_or_begins_elsewhere) {
  Eigen::SparseMatrix<double, Eigen::RowMajor> a(3, 4);
  a.reserve(Eigen::VectorXi::Constant(3, 2));
  a.insert(0, 1) = 1;
  EXPECT_TRUE(fails_with(errc::bad_structure, {"compressed"}, [&] { from_eigen(a); }));
  a = sparse<Eigen::SparseMatrix<double, Eigen::RowMajor>>();
  auto const rows = a.middleRows(1, 2);
  EXPECT_TRUE(fails_with(errc::bad_structure, {"begins at entry 2"}, [&] { from_eigen(rows); }));
}

TEST(from_eigen, views_dense_matrices_of_all_strides) {
  csr<double> const a = generate("poisson2d5:3");
  Eigen::SparseMatrix<double, Eigen::RowMajor> const e = to_eigen(a);
  Eigen::MatrixXd const b = Eigen::MatrixXd::Random(9, 5);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> c(9, 5);
  spmm(1.0, a, from_eigen(b), 0.0, from_eigen(c));
  EXPECT_LT((c - e * b).norm(), 1e-12);
  Eigen::MatrixXd wide = Eigen::MatrixXd::Zero(20, 12);
  auto const part = b.middleCols(1, 3);
  spmm(1.0, a, from_eigen(part), 0.0, from_eigen(wide.block(2, 4, 9, 3)));
  EXPECT_LT((wide.block(2, 4, 9, 3) - e * part).norm(), 1e-12);
  EXPECT_LT(std::abs(wide.norm() - (e * part).norm()), 1e-12) << "nothing beside the block";
  auto const back = to_eigen(from_eigen(wide.block(2, 4, 9, 3)));
  EXPECT_EQ(back, wide.block(2, 4, 9, 3));
}

TEST(vector_view, takes_eigen_vectors_and_refuses_those_with_gaps) {
  csr<double> const a = generate("poisson2d5:3");
  Eigen::SparseMatrix<double, Eigen::RowMajor> const e = to_eigen(a);
  Eigen::MatrixXd m = Eigen::MatrixXd::Random(9, 9);
  Eigen::VectorXd y(9);
  spmv(1.0, a, m.col(2), 0.0, y);
  EXPECT_LT((y - e * m.col(2)).norm(), 1e-12);
  spmv(1.0, a, y, 0.0, m.col(3));
  EXPECT_LT((m.col(3) - e * y).norm(), 1e-12);
  Eigen::VectorXd const before = y;
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"9 apart"}, [&] { spmv(1.0, a, m.row(1), 0.0, y); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"9 apart"},
                         [&] { spmv(1.0, a, m.block(1, 0, 1, 9), 0.0, y); }));
  EXPECT_TRUE(fails_with(errc::shape_mismatch, {"9 x 9"}, [&] { spmv(1.0, a, m, 0.0, y); }));
  Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<>> every_second(m.data(), 9,
                                                                    Eigen::InnerStride<>(2));
  EXPECT_TRUE(
      fails_with(errc::bad_structure, {"2 apart"}, [&] { spmv(1.0, a, every_second, 0.0, y); }));
  EXPECT_EQ(y, before);
  // Not by mistake, but on purpose.
  Eigen::VectorXd const row = m.row(1);
  auto const column = from_eigen(m.row(1).transpose());
  spmm(1.0, a, column, 0.0, from_eigen(y));
  EXPECT_LT((y - e * row).norm(), 1e-12);
  static_assert(!std::is_convertible_v<Eigen::Matrix3d&, vector_view<double>>);
  static_assert(!std::is_convertible_v<decltype(std::declval<Eigen::Matrix3d&>().row(1)),
                                       vector_view<double>>);
  static_assert(std::is_convertible_v<decltype(std::declval<Eigen::Matrix3d&>().col(1)),
                                      vector_view<double>>);
}

TEST(to_eigen, gives_what_eigen_solves_with) {
  for (char const* const animal : {"banded", "one_dense_row", "0x0", "5x0"}) {
    csr<double> a;
    for (auto const& one : zoo())
      if (one.name == animal)
        a = one.matrix;
    auto const e = to_eigen(a);
    EXPECT_EQ(e.rows(), a.rows) << animal;
    EXPECT_EQ(static_cast<std::size_t>(e.nonZeros()), a.val.size()) << animal;
    csc<double> const c = csc<double>::from_csr(a);
    if (!a.val.empty())
      EXPECT_EQ((Eigen::SparseMatrix<double>(e) - to_eigen(c)).norm(), 0) << animal;
    else
      EXPECT_EQ(to_eigen(c).nonZeros(), 0) << animal;
  }
  std::vector<double> v{1, 2, 3};
  to_eigen(vector_view<double>(v)) *= 2;
  EXPECT_EQ(v, (std::vector<double>{2, 4, 6}));
}

TEST(to_eigen, refuses_what_eigen_takes_for_granted) {
  csr<double> const a(1, 3, {0, 2}, {2, 0}, {1, 2}), twice(1, 3, {0, 2}, {1, 1}, {1, 2});
  EXPECT_TRUE(fails_with(errc::bad_structure, {"csr", "unsorted"}, [&] { to_eigen(a); }));
  EXPECT_TRUE(fails_with(errc::bad_structure, {"csr", "duplicates"}, [&] { to_eigen(twice); }));
  csc<double> const c(3, 1, {0, 2}, {2, 0}, {1, 2});
  EXPECT_TRUE(fails_with(errc::bad_structure, {"csc", "unsorted"}, [&] { to_eigen(c); }));
}

} // namespace
} // namespace tulle::test::eigen_test
