// SPDX-License-Identifier: Apache-2.0

// CXSparse: the textbook's loops in C, matrices by columns. It has doubles and one thread. Its sum
// of matrices leaves columns unsorted and takes no part.
#include "tulle/core/fail.hpp"

#include "bench/peers/peer.hpp"
#include "bench/peers/result.hpp"
#include "bench/peers/seconds.hpp"

#include <cs.h>
#include <memory>
#include <type_traits>

namespace tulle::bench {
namespace {

struct int32_functions {
  using matrix = cs_di;
  static constexpr auto transpose = cs_di_transpose;
  static constexpr auto multiply = cs_di_gaxpy;
  static constexpr auto product = cs_di_multiply;
  static constexpr auto compress = cs_di_compress;
  static constexpr auto add_up = cs_di_dupl;
  static constexpr auto free = cs_di_spfree;
};
struct int64_functions {
  using matrix = cs_dl;
  static constexpr auto transpose = cs_dl_transpose;
  static constexpr auto multiply = cs_dl_gaxpy;
  static constexpr auto product = cs_dl_multiply;
  static constexpr auto compress = cs_dl_compress;
  static constexpr auto add_up = cs_dl_dupl;
  static constexpr auto free = cs_dl_spfree;
};
static_assert(sizeof(cs_long_t) == 8);

template <class I>
using functions = std::conditional_t<sizeof(I) == 4, int32_functions, int64_functions>;
template <class I>
using matrix = typename functions<I>::matrix;

template <class I>
std::shared_ptr<matrix<I>> owned(matrix<I>* m, char const* what) {
  if (!m)
    fail(errc::backend, "cxsparse: %s: out of memory", what);
  return {m, [](matrix<I>* old) { functions<I>::free(old); }};
}

/// The transpose of A by columns, which is A by rows, over the arrays as they are.
template <class I>
matrix<I> borrow(csr_view<double, I, I> const& a) {
  return {a.nnz,
          a.cols,
          a.rows,
          const_cast<I*>(a.row_ptr),
          const_cast<I*>(a.col),
          const_cast<double*>(a.val),
          -1};
}

contestant named() {
  contestant c;
  c.peer = "cxsparse";
  c.path = "CXSparse " + std::to_string(CS_VER) + "." + std::to_string(CS_SUBVER) + "." +
           std::to_string(CS_SUBSUB) + ", 1 thread";
  c.threads = 1;
  return c;
}

/// One who makes a matrix by rows, that is its transpose by columns, by make().
template <class I, class Make>
contestant maker(Make const& make) {
  contestant c = named();
  auto const kept = std::make_shared<std::shared_ptr<matrix<I>>>();
  c.run = [make, kept] {
    kept->reset();
    *kept = make();
  };
  c.run();
  c.bytes = c.peak_bytes = sizeof(I) * (static_cast<std::size_t>((*kept)->n) + 1) +
                           (sizeof(I) + sizeof(double)) * static_cast<std::size_t>((*kept)->nzmax);
  c.result = [kept](void* to) {
    matrix<I> const& m = **kept;
    copy_matrix(static_cast<I>(m.n), static_cast<I>(m.m), m.p, m.i, m.x, to);
  };
  c.poison = [kept] { kept->reset(); };
  return c;
}

} // namespace

template <class I>
std::vector<contestant> contestants(spmv_problem<double, I> const& p) {
  using api = functions<I>;
  if (p.a.nnz == 0)
    return {};
  contestant c = named();
  c.format = "csc";
  std::shared_ptr<matrix<I>> m;
  c.convert_seconds = seconds_of([&] {
    matrix<I> const rows = borrow(p.a);
    m = owned<I>(api::transpose(&rows, 1), "cs_transpose");
  });
  c.bytes = sizeof(I) * (static_cast<std::size_t>(p.a.cols) + 1) +
            (sizeof(I) + sizeof(double)) * static_cast<std::size_t>(p.a.nnz);
  c.peak_bytes = c.bytes;
  double* const y = keep_result(c, p);
  c.run = [p, m, y] {
    std::fill_n(y, p.a.rows, 0.0); // gaxpy adds
    if (!api::multiply(m.get(), p.x, y))
      fail(errc::backend, "cxsparse: cs_gaxpy failed");
  };
  return {c};
}

template <class I>
std::vector<contestant> contestants(transpose_problem<double, I> const& p) {
  if (p.a.nnz == 0)
    return {};
  return {maker<I>([p] {
    matrix<I> const rows = borrow(p.a);
    return owned<I>(functions<I>::transpose(&rows, 1), "cs_transpose");
  })};
}

// C^T = B^T A^T by columns is C by rows, which it leaves unsorted. What it takes beyond the result
// is not known.
template <class I>
std::vector<contestant> contestants(spgemm_problem<double, I> const& p) {
  if (p.a.nnz == 0 || p.b.nnz == 0)
    return {};
  contestant c = maker<I>([p] {
    matrix<I> const a = borrow(p.a), b = borrow(p.b);
    return owned<I>(functions<I>::product(&b, &a), "cs_multiply");
  });
  c.path += ", unsorted";
  c.peak_bytes = 0;
  return {c};
}

// What cs_compress leaves unsorted, a transposition sorts.
template <class I>
std::vector<contestant> contestants(assemble_problem<double, I> const& p) {
  using api = functions<I>;
  if (p.val.empty())
    return {};
  return {maker<I>([p] {
    auto const nnz = static_cast<I>(p.val.size());
    matrix<I> const triplets = {nnz,
                                p.rows,
                                p.cols,
                                const_cast<I*>(p.col.data()),
                                const_cast<I*>(p.row.data()),
                                const_cast<double*>(p.val.data()),
                                nnz};
    auto const columns = owned<I>(api::compress(&triplets), "cs_compress");
    if (!api::add_up(columns.get()))
      fail(errc::backend, "cxsparse: cs_dupl failed");
    return owned<I>(api::transpose(columns.get(), 1), "cs_transpose");
  })};
}

} // namespace tulle::bench

TULLE_PEER
