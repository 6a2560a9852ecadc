// SPDX-License-Identifier: Apache-2.0

// Eigen's row-major sparse matrix times a vector, over the arrays as they are.
#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"

#include <Eigen/Sparse>

namespace tulle::bench {

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  using matrix = Eigen::SparseMatrix<V, Eigen::RowMajor, I>;
  using vector = Eigen::Matrix<V, Eigen::Dynamic, 1>;
  contestant c;
  c.peer = "eigen";
  c.path = "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
           std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  V* const out = keep_result(c, p);
  c.run = [p, out] {
    csr_view<V, I, I> const& a = p.a;
    Eigen::setNbThreads(p.threads);
    Eigen::Map<matrix const> const m(a.rows, a.cols, a.nnz, a.row_ptr, a.col, a.val);
    Eigen::Map<vector const> const x(p.x, a.cols);
    Eigen::Map<vector> y(out, a.rows);
    y.noalias() = m * x;
  };
  return {c};
}

} // namespace tulle::bench

TULLE_PEER
