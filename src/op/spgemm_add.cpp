// SPDX-License-Identifier: Apache-2.0

// C = alpha A B + beta D as one product: [alpha A, beta I] times B over D. An entry is the sum of
// its products, then beta d; copies of the operands are the price, and no product is kept beside C.
#include "tulle/op/spgemm.hpp"

#include "op/spgemm_operands.hpp"

namespace tulle::detail {
namespace {

/// factor times n values; a factor of zero reads none of them.
template <class V>
void scale(V factor, V const* from, std::size_t n, V* to) {
  for (std::size_t k = 0; k < n; ++k)
    to[k] = factor == V(0) ? V(0) : factor * from[k];
}
/// n values as they are: 1 times a complex one may change the sign of its zeros.
template <class V>
void copy(bool is_read, V const* from, std::size_t n, V* to) {
  if (is_read)
    std::copy_n(from, n, to);
  else
    std::fill_n(to, n, V(0));
}

} // namespace

template <class V, class I, class O>
csr<V, I, O> spgemm(where const& w, V alpha, csr_view<V, I, O> a, csr_view<V, I, O> b, V beta,
                    csr_view<V, I, O> d, spgemm_options o, std::size_t taken) {
  check_product(a, b, w);
  check_operand("spgemm", "D", d, w);
  if (d.rows != a.rows || d.cols != b.cols)
    fail(errc::shape_mismatch, "spgemm: D is %lld x %lld but A B is %lld x %lld",
         static_cast<long long>(d.rows), static_cast<long long>(d.cols),
         static_cast<long long>(a.rows), static_cast<long long>(b.cols));
  auto const rows = static_cast<std::size_t>(a.rows), inner = static_cast<std::size_t>(b.rows);
  auto const nnz_a = static_cast<std::size_t>(a.nnz), nnz_b = static_cast<std::size_t>(b.nnz),
             nnz_d = static_cast<std::size_t>(d.nnz);
  I const wide = narrow<I>(inner + rows, "spgemm: rows of B and D");
  narrow<O>(nnz_a + rows, "spgemm: entries of A and rows of D");
  narrow<O>(nnz_b + nnz_d, "spgemm: entries of B and D");
  std::size_t const bytes =
      (nnz_a + rows + nnz_b + nnz_d) * (sizeof(V) + sizeof(I)) + (2 * rows + inner + 2) * sizeof(O);
  if (taken + bytes > w.workspace_limit)
    fail(errc::out_of_memory,
         "spgemm: %zu bytes of workspace wanted at least for alpha A B + beta D, the limit is %zu",
         taken + bytes, w.workspace_limit);
  csr<V, I, O> left(unchecked, a.rows, wide, array<O>(rows + 1, w.memory),
                    array<I>(nnz_a + rows, w.memory), array<V>(nnz_a + rows, w.memory));
  csr<V, I, O> right(unchecked, wide, b.cols, array<O>(inner + rows + 1, w.memory),
                     array<I>(nnz_b + nnz_d, w.memory), array<V>(nnz_b + nnz_d, w.memory));
  left.row_ptr[0] = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    auto const from = static_cast<std::size_t>(a.row_ptr[i]);
    auto const n = static_cast<std::size_t>(a.row_ptr[i + 1]) - from;
    std::copy_n(a.col + from, n, left.col.data() + from + i);
    scale(alpha, a.val + from, n, left.val.data() + from + i);
    left.col[from + i + n] = static_cast<I>(inner + i);
    left.val[from + i + n] = beta;
    left.row_ptr[i + 1] = static_cast<O>(from + n + i + 1);
  }
  for (std::size_t j = 0; j <= inner; ++j)
    right.row_ptr[j] = inner == 0 ? O(0) : b.row_ptr[j];
  for (std::size_t i = 0; i < rows; ++i)
    right.row_ptr[inner + i + 1] = static_cast<O>(static_cast<O>(nnz_b) + d.row_ptr[i + 1]);
  std::copy_n(b.col, nnz_b, right.col.data());
  std::copy_n(d.col, nnz_d, right.col.data() + nnz_b);
  copy(alpha != V(0), b.val, nnz_b, right.val.data());
  copy(beta != V(0), d.val, nnz_d, right.val.data() + nnz_b);
  return spgemm(w, left.view(), right.view(), o, taken + bytes);
}

#define TULLE_SPGEMM(tag, V, I, O)                                                                 \
  template csr<V, I, O> spgemm(where const&, V, csr_view<V, I, O>, csr_view<V, I, O>, V,           \
                               csr_view<V, I, O>, spgemm_options, std::size_t);
TULLE_TYPES(TULLE_SPGEMM)
TULLE_BASIC_TYPES(TULLE_SPGEMM)
#undef TULLE_SPGEMM

} // namespace tulle::detail
