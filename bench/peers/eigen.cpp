// SPDX-License-Identifier: Apache-2.0

// Eigen's row-major sparse matrices, over the arrays as they are. Products have threads, the rest
// has one.
#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"

#include <Eigen/Sparse>

namespace tulle::bench {
namespace {

template <class V, class I>
using matrix = Eigen::SparseMatrix<V, Eigen::RowMajor, I>;
template <class V>
using vector = Eigen::Matrix<V, Eigen::Dynamic, 1>;

template <class V, class I>
Eigen::Map<matrix<V, I> const> borrow(csr_view<V, I, I> const& a) {
  return {a.rows, a.cols, a.nnz, a.row_ptr, a.col, a.val};
}

contestant named() {
  contestant c;
  c.peer = "eigen";
  c.path = "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
           std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
  return c;
}

contestant alone() {
  contestant c = named();
  c.threads = 1;
  c.path += ", 1 thread";
  return c;
}

/// One who makes a matrix, by fill(matrix&) into an empty one.
template <class V, class I, class Fill>
contestant maker(Fill const& fill) {
  contestant c = alone();
  auto const kept = std::make_shared<matrix<V, I>>();
  c.run = [fill, kept] {
    *kept = matrix<V, I>();
    fill(*kept);
  };
  c.run();
  c.bytes = c.peak_bytes = (sizeof(V) + sizeof(I)) * static_cast<std::size_t>(kept->nonZeros()) +
                           sizeof(I) * (static_cast<std::size_t>(kept->rows()) + 1);
  c.result = [kept](void* to) {
    kept->makeCompressed();
    copy_matrix(static_cast<I>(kept->rows()), static_cast<I>(kept->cols()), kept->outerIndexPtr(),
                kept->innerIndexPtr(), kept->valuePtr(), to);
  };
  c.poison = [kept] { *kept = matrix<V, I>(); };
  return c;
}

template <class V, class I>
Eigen::SparseVector<V, Eigen::ColMajor, I> copied(std::size_t size, std::span<I const> index,
                                                  V const* val) {
  Eigen::SparseVector<V, Eigen::ColMajor, I> x(static_cast<Eigen::Index>(size));
  x.reserve(static_cast<Eigen::Index>(index.size()));
  for (std::size_t k = 0; k < index.size(); ++k)
    x.insertBack(index[k]) = val[k];
  return x;
}

} // namespace

template <class V, class I>
std::vector<contestant> contestants(spmv_problem<V, I> const& p) {
  contestant c = named();
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  V* const out = keep_result(c, p);
  c.run = [p, out] {
    Eigen::setNbThreads(p.threads);
    Eigen::Map<vector<V> const> const x(p.x, p.a.cols);
    Eigen::Map<vector<V>> y(out, p.a.rows);
    y.noalias() = borrow(p.a) * x;
  };
  return {c};
}

template <class V, class I>
std::vector<contestant> contestants(spmv_transposed_problem<V, I> const& p) {
  contestant c = named();
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  V* const out = keep_result(c, p);
  c.run = [p, out] {
    Eigen::Map<vector<V> const> const x(p.x, p.a.rows);
    Eigen::Map<vector<V>> y(out, p.a.cols);
    y.noalias() = borrow(p.a).transpose() * x;
  };
  return {c};
}

// Dense matrices by rows and by columns: the latter have threads, and are brought there beforehand.
template <int order, class V, class I>
contestant by_order(spmm_problem<V, I> const& p) {
  using by_row = Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using dense = Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic, order>;
  contestant c = named();
  c.format = order == Eigen::RowMajor ? "csr row" : "csr column";
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  auto const x = std::make_shared<dense>(Eigen::Map<by_row const>(p.x, p.a.cols, p.columns));
  auto const y = std::make_shared<dense>(p.a.rows, p.columns);
  c.run = [p, x, y] {
    Eigen::setNbThreads(p.threads);
    y->noalias() = borrow(p.a) * *x;
  };
  c.result = [y](void* to) { Eigen::Map<by_row>(static_cast<V*>(to), y->rows(), y->cols()) = *y; };
  c.poison = [y] { y->setConstant(std::numeric_limits<V>::quiet_NaN()); };
  return c;
}
template <class V, class I>
std::vector<contestant> contestants(spmm_problem<V, I> const& p) {
  return {by_order<Eigen::RowMajor>(p), by_order<Eigen::ColMajor>(p)};
}

template <class V, class I>
std::vector<contestant> contestants(transpose_problem<V, I> const& p) {
  return {maker<V, I>([p](matrix<V, I>& c) { c = borrow(p.a).transpose(); })};
}

// In place of a copy of B.
template <class V, class I>
std::vector<contestant> contestants(triangle_problem<V, I> const& p) {
  using by_row = Eigen::Matrix<V, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  contestant c = alone();
  c.bytes = c.peak_bytes = detail::bytes_of(p.a);
  V* const out =
      keep_result<V>(c, static_cast<std::size_t>(p.a.rows) * static_cast<std::size_t>(p.columns));
  c.run = [p, out] {
    auto const solve = [&](auto const& b, auto& x) {
      x = b;
      if (p.upper)
        borrow(p.a).template triangularView<Eigen::Upper>().solveInPlace(x);
      else
        borrow(p.a).template triangularView<Eigen::Lower>().solveInPlace(x);
    };
    if (p.columns == 1) {
      Eigen::Map<vector<V>> x(out, p.a.rows);
      solve(Eigen::Map<vector<V> const>(p.b, p.a.rows), x);
    } else {
      Eigen::Map<by_row> x(out, p.a.rows, p.columns);
      solve(Eigen::Map<by_row const>(p.b, p.a.rows, p.columns), x);
    }
  };
  return {c};
}

// What it takes beyond the result is not known.
template <class V, class I>
std::vector<contestant> contestants(spgemm_problem<V, I> const& p) {
  contestant c = maker<V, I>([p](matrix<V, I>& to) { to = borrow(p.a) * borrow(p.b); });
  c.peak_bytes = 0;
  return {c};
}

template <class V, class I>
std::vector<contestant> contestants(add_problem<V, I> const& p) {
  return {maker<V, I>([p](matrix<V, I>& c) { c = p.alpha * borrow(p.a) + borrow(p.b); })};
}

template <class V, class I>
std::vector<contestant> contestants(multiply_elements_problem<V, I> const& p) {
  return {maker<V, I>([p](matrix<V, I>& c) { c = borrow(p.a).cwiseProduct(borrow(p.b)); })};
}

// The triplets as Eigen wants them are made before the time begins.
template <class V, class I>
std::vector<contestant> contestants(assemble_problem<V, I> const& p) {
  auto const list = std::make_shared<std::vector<Eigen::Triplet<V, I>>>();
  list->reserve(p.val.size());
  for (std::size_t k = 0; k < p.val.size(); ++k)
    list->emplace_back(p.row[k], p.col[k], p.val[k]);
  return {maker<V, I>([p, list](matrix<V, I>& c) {
    c.resize(p.rows, p.cols);
    c.setFromTriplets(list->begin(), list->end());
  })};
}

// Room for every row as long as it will be, which only a bench knows: Eigen moves the whole matrix
// for a row that has none left.
template <class V, class I>
std::vector<contestant> contestants(dynamic_problem<V, I> const& p) {
  struct state {
    matrix<V, I> a;
    std::size_t next = 0;
  };
  contestant c = named();
  c.path += ", reserve and coeffRef, 1 thread for those";
  auto const s = std::make_shared<state>();
  s->a = borrow(p.a);
  Eigen::Matrix<I, Eigen::Dynamic, 1> more = Eigen::Matrix<I, Eigen::Dynamic, 1>::Zero(p.a.rows);
  for (I const i : p.row)
    ++more[i];
  s->a.reserve(more);
  c.bytes = c.peak_bytes = (sizeof(V) + sizeof(I)) * (std::size_t(p.a.nnz) + p.val.size());
  V* const out = keep_result<V>(c, static_cast<std::size_t>(p.a.rows));
  c.run = [p, s, out] {
    for (std::size_t const end = s->next + p.batch; s->next < end; ++s->next)
      s->a.coeffRef(p.row[s->next], p.col[s->next]) += p.val[s->next];
    Eigen::setNbThreads(p.threads);
    Eigen::Map<vector<V> const> const x(p.x, p.a.cols);
    Eigen::Map<vector<V>> y(out, p.a.rows);
    for (int k = 0; k < p.products; ++k)
      y.noalias() = s->a * x;
  };
  return {c};
}

// It has dot, axpy and add; x is a copy, which none of them changes.
template <class V, class I>
std::vector<contestant> contestants(level1_problem<V, I> const& p) {
  using sparse = Eigen::SparseVector<V, Eigen::ColMajor, I>;
  using f = level1_function;
  if (p.function != f::dot && p.function != f::axpy && p.function != f::add)
    return {};
  contestant c = alone();
  auto const x = std::make_shared<sparse const>(copied<V, I>(p.y.size(), p.index, p.val.data()));
  c.bytes = c.peak_bytes = p.index.size_bytes() + p.val.size_bytes();
  if (p.function == f::dot) {
    V* const sum = keep_result<V>(c, 1);
    c.run = [p, x, sum] {
      Eigen::Map<vector<V> const> const y(p.y.data(), static_cast<Eigen::Index>(p.y.size()));
      *sum = x->dot(y);
    };
  } else if (p.function == f::axpy) {
    c.run = [p, x] {
      Eigen::Map<vector<V>> y(p.y.data(), static_cast<Eigen::Index>(p.y.size()));
      y += p.alpha * *x;
    };
  } else {
    auto const z =
        std::make_shared<sparse const>(copied<V, I>(p.y.size(), p.z_index, p.z_val.data()));
    auto const sum = std::make_shared<sparse>();
    c.run = [p, x, z, sum] {
      *sum = sparse();
      *sum = p.alpha * *x + *z;
    };
    c.result = [p, sum](void* to) {
      I const row_ptr[] = {0, static_cast<I>(sum->nonZeros())};
      copy_matrix(I(1), static_cast<I>(p.y.size()), row_ptr, sum->innerIndexPtr(), sum->valuePtr(),
                  to);
    };
    c.poison = [sum] { *sum = sparse(); };
  }
  return {c};
}

} // namespace tulle::bench

TULLE_PEER
