// SPDX-License-Identifier: Apache-2.0

// C = alpha A B + beta C of sparse A and B into a dense C, row by row: a row of C is scaled, then
// rows of B are added to it in the order of A's entries. One plain loop is the reference as well.
#include "tulle/op/dense_spmm.hpp"

#include "op/dense_operands.hpp"
#include "op/each_row.hpp"
#include "op/known_pattern.hpp"

#include <complex>

namespace tulle::detail {
namespace {

/// C is there, rows x cols, has no place twice, and lies apart from a matrix that is read.
template <class V>
std::size_t check_c(dense_view<V> c, std::size_t rows, std::size_t cols, char const* of_rows,
                    char const* of_cols) {
  if (c.rows != rows)
    fail(errc::shape_mismatch, "spmm: C has %zu rows but %s has %zu", c.rows, of_rows, rows);
  if (c.cols != cols)
    fail(errc::shape_mismatch, "spmm: C has %zu columns but %s has %zu", c.cols, of_cols, cols);
  std::size_t const n = extent("spmm", "C", c, sizeof(V)) / sizeof(V);
  if (n != 0 && !c.data)
    fail(errc::bad_structure, "spmm: C is null but is %zu x %zu", c.rows, c.cols);
  if (shares_places(c))
    fail(errc::bad_structure, "spmm: C has strides %zu and %zu, so that places of it are shared",
         c.row_stride, c.col_stride);
  return n;
}

} // namespace

template <class V, class I, class O>
void check_dense_spmm(where const& w, dense_view<V const> b, csr_view<V, I, O> a, dense_view<V> c) {
  check_operand("spmm", "A", a, w);
  if (b.cols != static_cast<std::size_t>(a.rows))
    fail(errc::shape_mismatch, "spmm: B has %zu columns but A has %lld rows", b.cols,
         static_cast<long long>(a.rows));
  std::size_t const n = check_c(c, b.rows, static_cast<std::size_t>(a.cols), "B", "A");
  if (overlaps(a, c.data, c.data + n))
    fail(errc::bad_structure, "spmm: C overlaps the arrays of A");
}

template <class V, class I, class O>
void multiply_into(where const& w, V alpha, csr_view<V, I, O> a, csr_view<V, I, O> b, V beta,
                   dense_view<V> c) {
  check_operand("spmm", "A", a, w);
  check_operand("spmm", "B", b, w);
  if (a.cols != b.rows)
    fail(errc::shape_mismatch, "spmm: A has %lld columns but B has %lld rows",
         static_cast<long long>(a.cols), static_cast<long long>(b.rows));
  auto const rows = static_cast<std::size_t>(a.rows), cols = static_cast<std::size_t>(b.cols);
  std::size_t const n = check_c(c, rows, cols, "A", "B");
  if (overlaps(a, c.data, c.data + n) || overlaps(b, c.data, c.data + n))
    fail(errc::bad_structure, "spmm: C overlaps the arrays of A or B");
  int const parts =
      w.backend == backend::reference
          ? 1
          : parts_for(checked_mul(rows, cols, "spmm") + static_cast<std::size_t>(a.nnz), w.threads);
  auto const work = [&](std::size_t i) {
    return i * cols + static_cast<std::size_t>(a.row_ptr[i]);
  };
  each_row_by(work, rows, parts, [&](std::size_t i) {
    for (std::size_t j = 0; j < cols && beta != V(1); ++j)
      c(i, j) = beta == V(0) ? V(0) : beta * c(i, j);
    if (alpha == V(0))
      return;
    for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k) {
      V const factor = alpha * a.val[k];
      for (O l = b.row_ptr[a.col[k]]; l < b.row_ptr[a.col[k] + 1]; ++l)
        c(i, static_cast<std::size_t>(b.col[l])) += factor * b.val[l];
    }
  });
}

#define TULLE_DENSE_SPMM(tag, V, I, O)                                                             \
  template void check_dense_spmm(where const&, dense_view<V const>, csr_view<V, I, O>,             \
                                 dense_view<V>);                                                   \
  template void multiply_into(where const&, V, csr_view<V, I, O>, csr_view<V, I, O>, V,            \
                              dense_view<V>);
TULLE_TYPES(TULLE_DENSE_SPMM)
TULLE_BASIC_TYPES(TULLE_DENSE_SPMM)
#undef TULLE_DENSE_SPMM

} // namespace tulle::detail
