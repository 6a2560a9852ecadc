// SPDX-License-Identifier: Apache-2.0

/// What is to be computed, one struct an operation. A problem borrows everything it names.
#pragma once
#include "tulle/format/csr.hpp"

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

/// Y = A X with `columns` columns. X is row-major, a.cols x columns; the result is row-major,
/// a.rows x columns of V.
template <class V, class I>
struct spmm_problem {
  csr_view<V, I, I> a;
  V const* x;
  int columns;
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
  std::variant<over_types<spmv_problem>, over_types<spmm_problem>, over_types<spgemm_problem>,
               over_types<convert_problem>, over_types<read_problem>>
      op;
  std::string backend = "cpu"; ///< where contestants are wanted: cpu or cuda
};

} // namespace tulle::bench
