// SPDX-License-Identifier: Apache-2.0

// CXSparse: y += A x by columns, the textbook's loop in C. It has doubles and one thread.
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
  static constexpr auto free = cs_di_spfree;
};
struct int64_functions {
  using matrix = cs_dl;
  static constexpr auto transpose = cs_dl_transpose;
  static constexpr auto multiply = cs_dl_gaxpy;
  static constexpr auto free = cs_dl_spfree;
};
static_assert(sizeof(cs_long_t) == 8);

} // namespace

template <class I>
std::vector<contestant> contestants(spmv_problem<double, I> const& p) {
  using api = std::conditional_t<sizeof(I) == 4, int32_functions, int64_functions>;
  using matrix = typename api::matrix;
  if (p.a.nnz == 0)
    return {};
  contestant c;
  c.peer = "cxsparse";
  c.format = "csc";
  c.path = "CXSparse " + std::to_string(CS_VER) + "." + std::to_string(CS_SUBVER) + "." +
           std::to_string(CS_SUBSUB) + ", 1 thread";
  c.threads = 1;
  std::shared_ptr<matrix> m;
  c.convert_seconds = seconds_of([&] {
    // The rows of A are the columns of its transpose, whose transpose is A by columns.
    matrix const rows = {p.a.nnz,
                         p.a.cols,
                         p.a.rows,
                         const_cast<I*>(p.a.row_ptr),
                         const_cast<I*>(p.a.col),
                         const_cast<double*>(p.a.val),
                         -1};
    m.reset(api::transpose(&rows, 1), [](matrix* q) { api::free(q); });
  });
  if (!m)
    fail(errc::backend, "cxsparse: cs_transpose: out of memory");
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

} // namespace tulle::bench

TULLE_PEER
