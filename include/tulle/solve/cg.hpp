// SPDX-License-Identifier: Apache-2.0

/// A x = b by conjugate gradients, A symmetric (complex: Hermitian) and positive definite.
///
///     auto r = tulle::cg(a, b, x);                          // x: first guess in, answer out
///     auto r = tulle::cg(tulle::cpu{.threads = 4}, a, b, x, {.tolerance = 1e-10, .jacobi = true});
///     std::printf("%zu iterations, residual %g\n", r.iterations, r.true_residual);
///
/// A is what spmv takes: an owner, a view, any_matrix of any format, transposed(a), scaled(a, s).
/// Same bits for every number of threads. An iteration allocates nothing. A call that fails leaves
/// x as it was.
///
/// Errors     not square, sizes that do not fit: shape_mismatch. x overlapping b or the arrays of
///            A; NaN or Inf in A, b or x; p^T A p <= 0 in some iteration; with jacobi a diagonal
///            entry that is missing or not positive: bad_structure. Squares that leave the range of
///            double: overflow. Symmetry is not checked; the true residual shows it.
/// From       Hestenes & Stiefel, J. Res. NBS 49(6), 1952; Kirk & Hwu, Programming Massively
///            Parallel Processors, sec. 10.1, shows its use of sparse products.
#pragma once
#include "tulle/op/spmv.hpp"

#include <cstddef>
#include <string>

namespace tulle {

/// Called after each iteration with ||r|| / ||b|| of the recurrence. An exception that it throws
/// ends the call.
struct cg_progress {
  void (*call)(void* context, std::size_t iteration, double residual) = nullptr;
  void* context = nullptr;
};

struct cg_options {
  double tolerance = 0;            ///< of ||b - A x|| / ||b||; 0: 1e-8, and 1e-5 for float
  std::size_t most_iterations = 0; ///< 0: ten per row
  bool jacobi = false;             ///< precondition with the inverse of the diagonal
  cg_progress progress = {};
};

struct cg_result {
  bool converged = false; ///< the true residual is within the tolerance
  std::size_t iterations = 0;
  double residual = 0;          ///< ||r|| / ||b||, r as the recurrence has it
  double true_residual = 0;     ///< ||b - A x|| / ||b||, computed from the x that is returned
  double tolerance = 0;         ///< the tolerance that was applied
  double seconds = 0;           ///< of the whole call
  double iteration_seconds = 0; ///< of the iterations alone, all of them
  std::size_t vector_bytes = 0; ///< that an iteration moves in addition to the matrix
  std::string path;             ///< of the products, as spmv_plan::path()
};

namespace detail {

cg_result cg(where const& w, value_kind kind, void const* factor, spmv_operand a, void const* b,
             std::size_t b_size, void* x, std::size_t x_size, cg_options const& options);

template <class V, class A>
cg_result cg_typed(where const& w, A const& a, vector_view<V const> b, vector_view<V> x,
                   cg_options const& options) {
  auto const view = view_of(a);
  V const factor = factor_of<V>(view);
  return with_operand(view, [&](spmv_operand operand) {
    return cg(w, kind_of<V>, &factor, operand, b.data(), b.size(), x.data(), x.size(), options);
  });
}

} // namespace detail

/// Solves A x = b from the guess in x, on the host: reference or cpu. cuda is errc::unsupported.
template <typed_matrix A>
cg_result cg(where const& w, A const& a, vector_view<value_t<A> const> b, vector_view<value_t<A>> x,
             cg_options const& options = {}) {
  return detail::cg_typed<value_t<A>>(w, a, b, x, options);
}
/// The same where the data is.
template <typed_matrix A>
cg_result cg(A const& a, vector_view<value_t<A> const> b, vector_view<value_t<A>> x,
             cg_options const& options = {}) {
  return detail::cg_typed<value_t<A>>(where{}, a, b, x, options);
}

/// For matrices whose type is known only at run time; x's elements give the value type.
template <matrix A, class B, class X>
requires(!typed_matrix<A>) cg_result
    cg(where const& w, A const& a, B const& b, X&& x, cg_options const& options = {}) {
  return detail::cg_typed<element_t<X>>(w, a, b, x, options);
}
template <matrix A, class B, class X>
requires(!typed_matrix<A>) cg_result
    cg(A const& a, B const& b, X&& x, cg_options const& options = {}) {
  return detail::cg_typed<element_t<X>>(where{}, a, b, x, options);
}

} // namespace tulle
