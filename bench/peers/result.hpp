// SPDX-License-Identifier: Apache-2.0

/// The result of a contestant that computes in host memory.
#pragma once
#include "tulle/core/array.hpp"

#include "bench/contestant.hpp"
#include "bench/problem.hpp"

#include <algorithm>
#include <limits>

namespace tulle::bench {

/// Makes y for a contestant, on huge pages as tulle's own, and tells it how to hand y out and how
/// to poison it. The contestant keeps it alive.
template <class V>
V* keep_result(contestant& c, std::size_t size) {
  auto const y = std::make_shared<array<V>>(size, V(0));
  c.result = [y](void* to) { std::copy(y->begin(), y->end(), static_cast<V*>(to)); };
  c.poison = [y] { std::fill(y->begin(), y->end(), std::numeric_limits<V>::quiet_NaN()); };
  return y->data();
}
template <class V, class I>
V* keep_result(contestant& c, spmv_problem<V, I> const& p) {
  return keep_result<V>(c, static_cast<std::size_t>(p.a.rows));
}
template <class V, class I>
V* keep_result(contestant& c, spmv_transposed_problem<V, I> const& p) {
  return keep_result<V>(c, static_cast<std::size_t>(p.a.cols));
}

/// Makes an empty csr for a contestant that fills it, and tells it how to hand that out and how to
/// forget it.
template <class V, class I>
std::shared_ptr<csr<V, I, I>> keep_matrix(contestant& c) {
  auto const kept = std::make_shared<csr<V, I, I>>();
  c.result = [kept](void* to) { *static_cast<csr<V, I, I>*>(to) = *kept; };
  c.poison = [kept] { *kept = {}; };
  return kept;
}

/// The arrays of a peer's own types as a csr<V, I, I>. What comes out is not checked.
template <class V, class I, class Index>
void copy_matrix(I rows, I cols, Index const* row_ptr, Index const* col, V const* val, void* to) {
  auto const lines = static_cast<std::size_t>(rows);
  auto const nnz = static_cast<std::size_t>(row_ptr[lines]);
  csr<V, I, I> a(unchecked, rows, cols, array<I>(lines + 1), array<I>(nnz), array<V>(nnz));
  std::copy_n(row_ptr, lines + 1, a.row_ptr.data());
  std::copy_n(col, nnz, a.col.data());
  std::copy_n(val, nnz, a.val.data());
  *static_cast<csr<V, I, I>*>(to) = std::move(a);
}

} // namespace tulle::bench
