// SPDX-License-Identifier: Apache-2.0

// D = alpha A + beta D for a dense D: along memory to scale, along A to add. Bytes that must move:
// D in and out, twice a value; 12 an entry of A, double with 32-bit indices.
#include "tulle/op/add.hpp"

#include "op/known_pattern.hpp"
#include "reference/add.hpp"

namespace tulle::detail {

template <class V, class I, class O>
void add(where const& w, V alpha, csr_view<V, I, O> a, V beta, dense_view<V> d) {
  check_operand("add", "A", a, w);
  if (static_cast<std::size_t>(a.rows) != d.rows || static_cast<std::size_t>(a.cols) != d.cols)
    fail(errc::shape_mismatch, "add: A is %lld x %lld but D is %zu x %zu",
         static_cast<long long>(a.rows), static_cast<long long>(a.cols), d.rows, d.cols);
  if (d.rows == 0 || d.cols == 0)
    return;
  std::size_t const across = checked_mul(d.rows - 1, d.row_stride, "add: rows of D");
  std::size_t const down = checked_mul(d.cols - 1, d.col_stride, "add: columns of D");
  bool const rows_apart = d.row_stride > down; // so that no two places of D are one
  if (!rows_apart && d.col_stride <= across && d.rows != 1 && d.cols != 1)
    fail(errc::bad_structure, "add: D has strides %zu and %zu, so that places of it are shared",
         d.row_stride, d.col_stride);
  if (!d.data)
    fail(errc::bad_structure, "add: D is null but is %zu x %zu", d.rows, d.cols);
  if (overlaps(a, d.data, d.data + across + down + 1))
    fail(errc::bad_structure, "add: D overlaps the arrays of A");
  if (w.backend == backend::reference)
    return kernels::reference::add(alpha, a, beta, d);
  bool const by_rows = d.row_stride >= d.col_stride;
  std::size_t const lines = by_rows ? d.rows : d.cols;
  std::size_t const length = by_rows ? d.cols : d.rows;
  std::size_t const line = by_rows ? d.row_stride : d.col_stride;
  std::size_t const step = by_rows ? d.col_stride : d.row_stride;
  if (beta != V(1)) {
    int const parts = parts_for(lines * length, w.threads);
    parallel(parts, [&](int part) {
      for (std::size_t i = split(lines, part, parts); i < split(lines, part + 1, parts); ++i)
        for (std::size_t j = 0; j < length; ++j) {
          V& v = d.data[i * line + j * step];
          v = beta == V(0) ? V(0) : beta * v;
        }
    });
  }
  if (alpha == V(0))
    return;
  int const parts = parts_for(static_cast<std::size_t>(a.nnz), w.threads);
  parallel(parts, [&](int part) {
    std::size_t const end = split_by_entries(a.row_ptr, d.rows, part + 1, parts);
    for (std::size_t i = split_by_entries(a.row_ptr, d.rows, part, parts); i < end; ++i)
      for (O k = a.row_ptr[i]; k < a.row_ptr[i + 1]; ++k)
        d(i, static_cast<std::size_t>(a.col[k])) += alpha * a.val[k];
  });
}

#define TULLE_ADD(tag, V, I, O)                                                                    \
  template void add(where const&, V, csr_view<V, I, O>, V, dense_view<V>);
TULLE_TYPES(TULLE_ADD)
TULLE_BASIC_TYPES(TULLE_ADD)
#undef TULLE_ADD

} // namespace tulle::detail
