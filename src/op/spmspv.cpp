// SPDX-License-Identifier: Apache-2.0

// y = alpha B x + beta y of a dense B and a sparse x. B's columns that x names are read once. Rows
// are taken in blocks whose sums stay in the first-level cache; along a block if B lies by columns,
// row by row if not. A row's products are added in the order of x either way.
#include "tulle/op/spmspv.hpp"

#include "op/dense_operands.hpp"
#include "op/sparse_operands.hpp"
#include "reference/spmspv.hpp"

namespace tulle::detail {
namespace {

constexpr std::size_t block = 512; // rows; other sizes have not been measured

template <class V, class I>
void add_block(dense_view<V const> b, sparse_vector_view<V, I> x, std::size_t first, std::size_t n,
               V* sum) {
  std::fill_n(sum, n, V(0));
  auto const entries = static_cast<std::size_t>(x.nnz);
  if (b.row_stride == 1) {
    for (std::size_t e = 0; e < entries; ++e) {
      V const* const column = b.data + first + static_cast<std::size_t>(x.index[e]) * b.col_stride;
      V const v = x.val[e];
      for (std::size_t i = 0; i < n; ++i)
        sum[i] += column[i] * v;
    }
    return;
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t e = 0; e < entries; ++e)
      sum[i] += b(first + i, static_cast<std::size_t>(x.index[e])) * x.val[e];
}

} // namespace

template <class V, class I>
void dense_spmspv(where const& w, V alpha, dense_view<V const> b, sparse_vector_view<V, I> x,
                  V beta, vector_view<V> y) {
  bool const plain = by_reference("spmv", w);
  if (static_cast<std::size_t>(x.size) != b.cols)
    fail(errc::shape_mismatch, "spmv: x has size %lld but B has %zu columns",
         static_cast<long long>(x.size), b.cols);
  if (y.size() != b.rows)
    fail(errc::shape_mismatch, "spmv: y has %zu entries but B has %zu rows", y.size(), b.rows);
  check_arrays("spmv", "x", x);
  if (extent("spmv", "B", b, sizeof(V)) != 0 && !b.data)
    fail(errc::bad_structure, "spmv: B is null but is %zu x %zu", b.rows, b.cols);
  if (b.rows != 0 && y.data() == nullptr)
    fail(errc::bad_structure, "spmv: y is null but has %zu entries", b.rows);
  check_apart("spmv", "y", y, "B", b.data, extent("spmv", "B", b, 1));
  if (overlaps(x, y.data(), y.data() + y.size()))
    fail(errc::bad_structure, "spmv: y overlaps the arrays of x");
  V* const to = y.data();
  if (plain)
    return kernels::reference::dense_spmspv(alpha, b, x, beta, to);
  if (alpha == V(0))
    x.nnz = 0;
  std::size_t const blocks = (b.rows + block - 1) / block;
  int const parts =
      parts_for(checked_mul(b.rows, static_cast<std::size_t>(x.nnz) + 1, "spmv"), w.threads);
  parallel(parts, [&](int part) {
    V sum[block];
    std::size_t const end = split(blocks, part + 1, parts);
    for (std::size_t at = split(blocks, part, parts); at < end; ++at) {
      std::size_t const first = at * block, n = std::min(block, b.rows - first);
      add_block(b, x, first, n, sum);
      for (std::size_t i = 0; i < n; ++i) {
        V const product = alpha == V(0) ? V(0) : alpha * sum[i];
        to[first + i] = product + (beta == V(0) ? V(0) : beta * to[first + i]);
      }
    }
  });
}

#define TULLE_DENSE_SPMSPV(V, I)                                                                   \
  template void dense_spmspv(where const&, V, dense_view<V const>, sparse_vector_view<V, I>, V,    \
                             vector_view<V>);
TULLE_VECTOR_TYPES(TULLE_DENSE_SPMSPV)
#undef TULLE_DENSE_SPMSPV

} // namespace tulle::detail
