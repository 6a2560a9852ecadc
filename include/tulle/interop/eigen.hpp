// SPDX-License-Identifier: Apache-2.0

/// Eigen's matrices as ours and ours as Eigen's, without a copy.
///
///     Eigen::SparseMatrix<double, Eigen::RowMajor> a = ...;
///     tulle::spmv(1.0, tulle::from_eigen(a), x, 0.0, y);       // x, y: Eigen::VectorXd
///     tulle::spmm(1.0, tulle::from_eigen(a), tulle::from_eigen(b), 0.0, tulle::from_eigen(c));
///     Eigen::SimplicialLDLT<...> solver(tulle::to_eigen(k));   // k: csr, csc or a view
///
/// The result points into the argument, which must outlive it unchanged; a temporary is refused.
#pragma once
#include "tulle/format/csc.hpp"
#include "tulle/format/csr.hpp"
#include "tulle/view/dense.hpp"
#include "tulle/view/vector.hpp"

#include <Eigen/SparseCore>

namespace tulle {
namespace detail {

/// A dense matrix or vector of Eigen's whose elements have places.
template <class M>
concept eigen_dense =
    std::is_base_of_v<Eigen::DenseBase<std::remove_cvref_t<M>>, std::remove_cvref_t<M>> &&
    requires(M& m) {
  m.data();
  m.rowStride();
  m.colStride();
};
template <class M>
concept eigen_owner =
    !std::is_lvalue_reference_v<M> &&
    std::is_base_of_v<Eigen::PlainObjectBase<std::remove_cv_t<M>>, std::remove_cv_t<M>>;

template <int order, class V, class I>
using eigen_sparse_map = Eigen::Map<Eigen::SparseMatrix<V, order, I> const>;

template <int order, class V, class I>
eigen_sparse_map<order, V, I> to_eigen_lines(char const* format, I rows, I cols, I lines, I width,
                                             I nnz, I const* ptr, I const* index, V const* val) {
  if (!ptr && lines != 0)
    fail(errc::bad_structure, "to_eigen: the %s has no pointers; was it moved from?", format);
  if (!csr_view<V, I, I>(unchecked, lines, width, nnz, ptr, index, val).is_canonical())
    fail(errc::bad_structure,
         "to_eigen: the %s is unsorted or has duplicates, which Eigen does not read; make it "
         "canonical by to_csr()",
         format);
  return {static_cast<Eigen::Index>(rows),
          static_cast<Eigen::Index>(cols),
          static_cast<Eigen::Index>(nnz),
          ptr,
          index,
          val};
}

} // namespace detail

/// A csr_view where Eigen stores by rows, a csc_view where by columns. errc::bad_structure for a
/// matrix that is not compressed, or a block that begins within another.
template <class M>
auto from_eigen(Eigen::SparseCompressedBase<M> const& m) {
  using V = typename M::Scalar;
  using I = typename detail::index_like<typename M::StorageIndex>::type;
  if (!m.isCompressed())
    fail(errc::bad_structure,
         "from_eigen: the matrix is not compressed, call its makeCompressed() first");
  detail::lent<I> const ptr(m.outerIndexPtr()), index(m.innerIndexPtr());
  if (m.outerSize() != 0 && ptr.data() && ptr.data()[0] != 0)
    fail(errc::bad_structure, "from_eigen: the block begins at entry %lld of another matrix",
         static_cast<long long>(ptr.data()[0]));
  using view = std::conditional_t<M::IsRowMajor, csr_view<V, I, I>, csc_view<V, I, I>>;
  return view(unchecked, narrow<I>(m.rows(), "from_eigen: the number of rows"),
              narrow<I>(m.cols(), "from_eigen: the number of columns"),
              narrow<I>(m.nonZeros(), "from_eigen: the number of entries"), ptr.data(),
              index.data(), m.valuePtr());
}
template <class V, int order, class I>
void from_eigen(Eigen::SparseMatrix<V, order, I> const&&) = delete;

/// A dense_view of a matrix, or of a vector as one row or column; also of a Map, Block or Ref.
template <detail::eigen_dense M>
requires(!detail::eigen_owner<M>) auto from_eigen(M&& m) {
  using T = std::remove_pointer_t<decltype(m.data())>;
  return dense_view<T>{m.data(), static_cast<std::size_t>(m.rows()),
                       static_cast<std::size_t>(m.cols()), static_cast<std::size_t>(m.rowStride()),
                       static_cast<std::size_t>(m.colStride())};
}
template <detail::eigen_dense M>
requires detail::eigen_owner<M>
void from_eigen(M&&) = delete;

/// A constant Eigen::Map; errc::bad_structure where rows are unsorted or have duplicates, which
/// Eigen takes for granted. Offsets are of the index type, since Eigen has one type for both.
template <class V, class I>
auto to_eigen(csr_view<V, I, I> const& a) {
  return detail::to_eigen_lines<Eigen::RowMajor>("csr", a.rows, a.cols, a.rows, a.cols, a.nnz,
                                                 a.row_ptr, a.col, a.val);
}
template <class V, class I>
auto to_eigen(csc_view<V, I, I> const& a) {
  return detail::to_eigen_lines<Eigen::ColMajor>("csc", a.rows, a.cols, a.cols, a.rows, a.nnz,
                                                 a.col_ptr, a.row, a.val);
}
template <class V, class I>
auto to_eigen(csr<V, I, I> const& a) {
  return to_eigen(a.view());
}
template <class V, class I>
auto to_eigen(csc<V, I, I> const& a) {
  return to_eigen(a.view());
}
template <class V, class I>
void to_eigen(csr<V, I, I> const&&) = delete;
template <class V, class I>
void to_eigen(csc<V, I, I> const&&) = delete;

/// A Map of the same strides.
template <class T>
auto to_eigen(dense_view<T> const& d) {
  using matrix = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, Eigen::Dynamic>;
  using stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  using map = Eigen::Map<std::conditional_t<std::is_const_v<T>, matrix const, matrix>, 0, stride>;
  return map(
      d.data, static_cast<Eigen::Index>(d.rows), static_cast<Eigen::Index>(d.cols),
      stride(static_cast<Eigen::Index>(d.col_stride), static_cast<Eigen::Index>(d.row_stride)));
}
/// A Map of a column.
template <class T>
auto to_eigen(vector_view<T> const& v) {
  using vector = Eigen::Matrix<std::remove_const_t<T>, Eigen::Dynamic, 1>;
  return Eigen::Map<std::conditional_t<std::is_const_v<T>, vector const, vector>>(
      v.data(), static_cast<Eigen::Index>(v.size()));
}

} // namespace tulle
