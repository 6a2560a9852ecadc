// SPDX-License-Identifier: Apache-2.0

/// A diagonal of a matrix as a dense vector, and a matrix from a diagonal.
///
///     tulle::array<double> d = tulle::diagonal(a);          // a(i, i); 0 where nothing is stored
///     auto u = tulle::diagonal(a, 1);                       // a(i, i + 1)
///     tulle::diagonal(a, d);                                // into memory that is there
///     auto s = tulle::from_diagonal(d);                     // a csr with 32-bit indices
///     auto t = tulle::from_diagonal<std::int64_t>(d, -1);   // one larger, below the diagonal
///
/// Diagonal k has the places (i, i + k), from row or column 0 on; outside the matrix it has none.
/// Duplicates count with their sum, in the order they are stored. An operand of another format goes
/// through csr. The first argument may be a policy. Same bits for every number of threads.
///
/// Errors     a vector of another length than the diagonal: shape_mismatch. One that overlaps the
///            arrays of A, or is null with a size: bad_structure.
#pragma once
#include "tulle/op/dense_level1.hpp"
#include "tulle/op/detail/canonical_operand.hpp"
#include "tulle/op/detail/hub.hpp"

#include <cstdint>

namespace tulle {
namespace detail {

/// src/op/diagonal.cpp.
template <class V, class I, class O>
void diagonal(where const& w, csr_view<V, I, O> a, vector_view<V> d, std::int64_t k);
template <class V, class I, class O>
csr<V, I, O> from_diagonal(where const& w, vector_view<V const> d, std::int64_t k);

/// How many places diagonal k of a rows x cols matrix has.
template <class I>
std::size_t diagonal_length(I rows, I cols, std::int64_t k) {
  std::int64_t const n = rows, m = cols;
  if (k >= m || k <= -n)
    return 0;
  return static_cast<std::size_t>(k >= 0 ? std::min(n, m - k) : std::min(n + k, m));
}

template <class V, class I, class O>
array<V> new_diagonal(where const& w, csr_view<V, I, O> const& a, std::int64_t k) {
  array<V> d(diagonal_length(a.rows, a.cols, k), w.memory);
  diagonal(w, a, vector_view<V>(d), k);
  return d;
}

} // namespace detail

/// Diagonal k, from the policy's memory.
template <detail::hub_operand A>
array<value_t<A>> diagonal(where const& w, A const& a, std::int64_t k = 0) {
  return detail::new_diagonal(w, detail::hub_of(a, w.as_cpu()).view, k);
}
template <detail::hub_operand A>
array<value_t<A>> diagonal(A const& a, std::int64_t k = 0) {
  return diagonal(where{}, a, k);
}

/// d = diagonal k.
template <detail::hub_operand A>
void diagonal(where const& w, A const& a, vector_view<value_t<A>> d, std::int64_t k = 0) {
  detail::check_apart("diagonal", "d", d, detail::view_of(a));
  detail::diagonal(w, detail::hub_of(a, w.as_cpu()).view, d, k);
}
template <detail::hub_operand A>
void diagonal(A const& a, vector_view<value_t<A>> d, std::int64_t k = 0) {
  diagonal(where{}, a, d, k);
}

/// The square matrix with d on diagonal k and nothing else; zeros of d are stored.
template <class I = std::int32_t, class O = I, dense_vector D>
csr<dense_value_t<D>, I, O> from_diagonal(where const& w, D const& d, std::int64_t k = 0) {
  return detail::from_diagonal<dense_value_t<D>, I, O>(w, d, k);
}
template <class I = std::int32_t, class O = I, dense_vector D>
csr<dense_value_t<D>, I, O> from_diagonal(D const& d, std::int64_t k = 0) {
  return detail::from_diagonal<dense_value_t<D>, I, O>(where{}, d, k);
}

} // namespace tulle
