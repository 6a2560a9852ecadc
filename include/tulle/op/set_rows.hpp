// SPDX-License-Identifier: Apache-2.0

/// Rows of a matrix replaced by rows of the identity, and Dirichlet conditions of finite elements.
///
///     tulle::set_rows(a, rows);                             // a(i, i) = 1, the rest of row i is 0
///     tulle::set_rows(a, rows, {.diagonal = 4.0});
///     tulle::dirichlet(a, rows, values, b);                 // A x = b has x[rows[k]] = values[k]
///     tulle::dirichlet(a, rows, values, b, {.symmetric = false});
///
/// Values change, the pattern stays: what was made for it (plans, other formats by refill) is still
/// good. dirichlet also moves the columns of those rows to the right-hand side, b_i -= a_ij
/// values_j, so that a symmetric matrix stays symmetric and cg solves it; with `symmetric = false`
/// columns stay. Rows may be in any order and come more than once, with the same value.
///
/// Each row needs an entry on the diagonal, as assembled matrices have; its value may be 0. The
/// first argument may be a policy. Same bits for every number of threads. A call that fails changes
/// nothing. Workspace: one byte per row, and one value per row if columns move to the right-hand
/// side.
///
/// Errors     a row out of range, without an entry on the diagonal, or with two values:
///            bad_structure naming it. Lists of different lengths, b of another size, columns of a
///            matrix that is not square: shape_mismatch. What is written overlaps what is read:
///            bad_structure.
#pragma once
#include "tulle/format/csr.hpp"
#include "tulle/view/vector.hpp"

#include <span>
#include <type_traits>

namespace tulle {

template <class V>
struct set_rows_options {
  V diagonal = V(1);    ///< 0: a row of zeros, which needs no entry on the diagonal
  bool columns = false; ///< zeros also in the columns of those rows, off the diagonal
};

template <class V>
struct dirichlet_options {
  V diagonal = V(1);
  bool keep_diagonal = false; ///< the diagonal entry stays as it is, so that the scale of A does
  bool symmetric = true;      ///< columns move to the right-hand side
};

namespace detail {

/// What set_rows and dirichlet ask for.
template <class V, class I>
struct row_conditions {
  char const* op;
  std::span<I const> rows;
  V diagonal;
  bool keep_diagonal;
  bool columns;
  bool has_values; ///< dirichlet: what follows is given
  std::span<V const> values;
  vector_view<V> b;
};

/// src/op/set_rows.cpp. val: the values of a, to be written.
template <class V, class I, class O>
void set_rows(where const& w, csr_view<V, I, O> a, V* val, row_conditions<V, I> const& c);

} // namespace detail

/// Row i = diagonal * e_i for each i of rows.
template <class V, class I, class O>
void set_rows(where const& w, csr<V, I, O>& a, std::span<std::type_identity_t<I> const> rows,
              std::type_identity_t<set_rows_options<V>> o = {}) {
  detail::set_rows<V, I, O>(w, a.view(), a.val.data(),
                            {"set_rows", rows, o.diagonal, false, o.columns, false, {}, {}});
}
template <class V, class I, class O>
void set_rows(csr<V, I, O>& a, std::span<std::type_identity_t<I> const> rows,
              std::type_identity_t<set_rows_options<V>> o = {}) {
  set_rows(where{}, a, rows, o);
}

/// Rows as set_rows has them, and b so that x[rows[k]] = values[k].
template <class V, class I, class O>
void dirichlet(where const& w, csr<V, I, O>& a, std::span<std::type_identity_t<I> const> rows,
               std::span<std::type_identity_t<V> const> values,
               vector_view<std::type_identity_t<V>> b,
               std::type_identity_t<dirichlet_options<V>> o = {}) {
  detail::set_rows<V, I, O>(
      w, a.view(), a.val.data(),
      {"dirichlet", rows, o.diagonal, o.keep_diagonal, o.symmetric, true, values, b});
}
template <class V, class I, class O>
void dirichlet(csr<V, I, O>& a, std::span<std::type_identity_t<I> const> rows,
               std::span<std::type_identity_t<V> const> values,
               vector_view<std::type_identity_t<V>> b,
               std::type_identity_t<dirichlet_options<V>> o = {}) {
  dirichlet(where{}, a, rows, values, b, o);
}

} // namespace tulle
