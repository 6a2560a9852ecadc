// SPDX-License-Identifier: Apache-2.0

/// What is to be computed, one struct an operation. A problem borrows everything it names.
#pragma once
#include "tulle/format/csr.hpp"

#include <span>
#include <string>
#include <variant>

namespace tulle::bench {

/// y = A x, in V with I for indices and offsets. The result is rows of V.
template <class V, class I>
struct spmv_problem {
  csr_view<V, I, I> a;
  V const* x; ///< a.cols
  int threads;
};

/// y = A^T x. The result is a.cols of V.
template <class V, class I>
struct spmv_transposed_problem {
  csr_view<V, I, I> a;
  V const* x; ///< a.rows
  int threads;
};

/// Y = A X with `columns` columns. X is row-major, a.cols x columns; the result is row-major,
/// a.rows x columns of V.
template <class V, class I>
struct spmm_problem {
  csr_view<V, I, I> a;
  V const* x;
  int columns;
  int threads;
};

/// C = (X Y^T) .* spy(A). X and Y are row-major, a.rows x columns and a.cols x columns; the result
/// is a.nnz of V.
template <class V, class I>
struct sddmm_problem {
  csr_view<V, I, I> a;
  V const* x;
  V const* y;
  int columns;
  int threads;
};

/// T X = B for a sparse triangle, diagonal included, rows sorted. B is row-major with `columns`
/// columns, as is the result.
template <class V, class I>
struct triangle_problem {
  csr_view<V, I, I> a;
  V const* b;
  int columns;
  bool upper;
  int threads;
};

/// C = A B, all sparse. The result is a csr<V, I, I>, rows in any order.
template <class V, class I>
struct spgemm_problem {
  csr_view<V, I, I> a;
  csr_view<V, I, I> b;
  int threads;
};

/// A in another format. The result is a csr<V, I, I> of what that format holds.
template <class V, class I>
struct convert_problem {
  csr_view<V, I, I> a;
  int threads;
};

/// A^T. The result is a csr<V, I, I>, rows sorted.
template <class V, class I>
struct transpose_problem {
  csr_view<V, I, I> a;
  int threads;
};

/// C = alpha A + B, all sparse. The result is a csr<V, I, I>, rows sorted; whether it holds zeros
/// that came out is left to everyone.
template <class V, class I>
struct add_problem {
  V alpha;
  csr_view<V, I, I> a;
  csr_view<V, I, I> b;
  int threads;
};

/// C = A .* B, all sparse. The result is a csr<V, I, I>, rows sorted; whether it holds zeros that
/// came out is left to everyone.
template <class V, class I>
struct multiply_elements_problem {
  csr_view<V, I, I> a;
  csr_view<V, I, I> b;
  int threads;
};

/// The Kronecker product of A and B. The result is a csr<V, I, I>, rows sorted.
template <class V, class I>
struct kron_problem {
  csr_view<V, I, I> a;
  csr_view<V, I, I> b;
  int threads;
};

/// y = A x with a sparse x. The result is a csr<V, I, I> of one row: y's entries, ascending.
template <class V, class I>
struct spmspv_problem {
  csr_view<V, I, I> a;
  std::span<I const> index; ///< of x, ascending
  std::span<V const> val;
  V const* x; ///< the same, dense: a.cols
  int threads;
};

/// The matrix of triplets in any order. The result is a csr<V, I, I>, rows sorted.
template <class V, class I>
struct assemble_problem {
  I rows;
  I cols;
  std::span<I const> row;
  std::span<I const> col;
  std::span<V const> val;
  int threads;
};

/// A matrix that grows: each run inserts the next `batch` triplets, at places that have no entry,
/// then computes y = A x `products` times. It is not run beyond the last batch. The result is
/// a.rows of V.
template <class V, class I>
struct dynamic_problem {
  csr_view<V, I, I> a; ///< at first
  std::span<I const> row;
  std::span<I const> col;
  std::span<V const> val;
  std::size_t batch;
  V const* x; ///< a.cols
  int products;
  int threads;
};

enum class level1_function {
  dot,
  axpy,
  gather,
  gather_zero,
  scatter,
  rotate,
  add,
  dense_dot, ///< of dense_x instead of x, as the next
  dense_axpy
};

/// One call of level 1 on a sparse x and a dense y. Contestants change x and y themselves, all the
/// same ones: they are put back before a result is looked at. Beside that, the result of a dot is a
/// V, and of add a csr<V, I, I> of one row.
template <class V, class I>
struct level1_problem {
  level1_function function;
  std::span<I const> index; ///< of x, ascending
  std::span<V> val;
  std::span<V> y;
  std::span<I const> z_index; ///< of add: alpha x + z
  std::span<V const> z_val;
  std::span<V const> dense_x; ///< as long as y
  V alpha;                    ///< of axpy and add
  V c, s;                     ///< of rotate
  int threads;
};

/// The matrix in a file. The result is a csr<V, I, I>.
template <class V, class I>
struct read_problem {
  std::string path;
  int threads;
};

template <template <class, class> class Problem>
using over_types = std::variant<Problem<float, std::int32_t>, Problem<double, std::int32_t>,
                                Problem<float, std::int64_t>, Problem<double, std::int64_t>>;

/// One operation of them all, in one of the types that the bench offers.
struct any_problem {
  std::variant<over_types<spmv_problem>, over_types<spmv_transposed_problem>,
               over_types<spmm_problem>, over_types<sddmm_problem>, over_types<spgemm_problem>,
               over_types<convert_problem>, over_types<transpose_problem>, over_types<add_problem>,
               over_types<multiply_elements_problem>, over_types<kron_problem>,
               over_types<spmspv_problem>, over_types<assemble_problem>, over_types<level1_problem>,
               over_types<read_problem>, over_types<dynamic_problem>, over_types<triangle_problem>>
      op;
  std::string backend = "cpu"; ///< where contestants are wanted
};

} // namespace tulle::bench
