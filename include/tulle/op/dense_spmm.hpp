// SPDX-License-Identifier: Apache-2.0

/// Dense times sparse, and sparse times sparse into a dense matrix.
///
///     tulle::spmm(1.0, b, a, 0.0, c);  // C = alpha B A + beta C, dense B and C
///     tulle::spmm(1.0, a, b, 0.0, c);  // C = alpha A B + beta C, sparse A and B
///
/// Dense matrices may have any strides. alpha == 0 does not read A and B, beta == 0 not C. Operands
/// of other formats go through csr. The first argument may be a policy. Same bits for every number
/// of threads. There is no device kernel: a policy that names a device is errc::unsupported.
///
/// Dense times sparse goes through A^T, which is made for the call: C^T = alpha A^T B^T + beta C^T.
/// For many calls keep transpose(a) and call spmm with the transposes of B and C, which are views
/// with strides exchanged. B and C by columns are fastest.
///
/// Workspace: A^T, bounded by workspace_limit.
///
/// Errors     sizes that do not fit each other: shape_mismatch. A dense matrix that is null with a
///            size, or C that overlaps what is read: bad_structure. C is as before then.
#pragma once
#include "tulle/op/spmm.hpp"
#include "tulle/op/transpose.hpp"

namespace tulle {
namespace detail {

/// The transpose of a dense matrix.
template <class T>
dense_view<T> turned(dense_view<T> d) {
  return {d.data, d.cols, d.rows, d.col_stride, d.row_stride};
}

/// src/op/dense_spmm.cpp. Checks C = B A.
template <class V, class I, class O>
void check_dense_spmm(where const& w, dense_view<V const> b, csr_view<V, I, O> a, dense_view<V> c);
/// C = alpha A B + beta C.
template <class V, class I, class O>
void multiply_into(where const& w, V alpha, csr_view<V, I, O> a, csr_view<V, I, O> b, V beta,
                   dense_view<V> c);

} // namespace detail

/// C = alpha B A + beta C.
template <detail::hub_operand A>
void spmm(where const& w, value_t<A> alpha, dense_view<value_t<A> const> b, A const& a,
          value_t<A> beta, dense_view<value_t<A>> c) {
  detail::limited const space("spmm", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  detail::check_dense_spmm(w, b, of_a.view, c);
  where counted = space.rest(w);
  counted.memory = space.counted().memory;
  auto const t = transpose(counted, of_a.view);
  spmm(space.rest(w), alpha, t, detail::turned(b), beta, detail::turned(c));
}
template <detail::hub_operand A>
void spmm(value_t<A> alpha, dense_view<value_t<A> const> b, A const& a, value_t<A> beta,
          dense_view<value_t<A>> c) {
  spmm(where{}, alpha, b, a, beta, c);
}

/// C = alpha A B + beta C, both sparse.
template <detail::hub_operand A, detail::hub_operand B>
void spmm(where const& w, value_t<A> alpha, A const& a, B const& b, value_t<A> beta,
          dense_view<value_t<A>> c) {
  detail::limited const space("spmm", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  auto const of_b = detail::built_hub_of(b, space.counted());
  detail::multiply_into(w, alpha, of_a.view, of_b.view, beta, c);
}
template <detail::hub_operand A, detail::hub_operand B>
void spmm(value_t<A> alpha, A const& a, B const& b, value_t<A> beta, dense_view<value_t<A>> c) {
  spmm(where{}, alpha, a, b, beta, c);
}

} // namespace tulle
