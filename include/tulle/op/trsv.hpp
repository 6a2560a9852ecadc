// SPDX-License-Identifier: Apache-2.0

/// op(T) x = alpha b, solved for x: T is a triangle of a square sparse matrix.
///
///     tulle::trsv(1.0, l, b, x);                                        // the lower triangle of l
///     tulle::trsv(1.0, a, b, x, {.triangle = tulle::triangle::upper});
///     tulle::trsv(1.0, tulle::transposed(l), x, x);                     // L^T, in place
///     auto plan = tulle::trsv_plan(lu, {.unit_diagonal = true});        // once per pattern
///     tulle::trsv(plan, 1.0, lu, b, x);                                 // allocates nothing
///
/// T is named as it lies in the matrix that is stored: transposed(a), adjoint(a), conjugated(a) and
/// scaled(a, s) are views of T, so that transposed(a) with triangle::lower solves with an upper
/// triangle, and scaled(a, s) is s T also where the diagonal is a unit one. Entries outside of T
/// are not read, nor those on the diagonal where it is a unit one. Duplicates count with their sum,
/// and rows may be unsorted.
///
/// x and b may be one vector; they may not overlap otherwise, nor x the arrays of A. alpha == 0
/// reads neither A nor b. Same bits for every method and every number of threads, and for a column
/// of trsm. Of a format other than csr and csc a csr is made in each call. Matrices on a device are
/// refused: no device backend has triangular solves.
///
/// Errors     a matrix that is not square, vectors of another length: shape_mismatch. A diagonal
///            entry that is missing, which a plan finds, or zero, which a call finds:
///            bad_structure; the message names the first such row. x is then as it was.
#pragma once
#include "tulle/op/spmv.hpp"
#include "tulle/view/dense.hpp"

namespace tulle {

enum class triangle : std::uint8_t {
  lower, ///< entries on and below the diagonal
  upper, ///< on and above it
};

constexpr char const* name(triangle t) {
  return t == triangle::lower ? "lower" : "upper";
}

/// How rows are dealt to threads. All give the same bits.
enum class trsv_method : std::uint8_t {
  automatic, ///< what the pattern's levels and the number of threads suggest
  serial,    ///< rows in order by one thread; of trsm, by one thread per block of columns
  levels,    ///< rows that depend on no other of their level, level by level
  sync_free, ///< chunks of rows in order; each waits for the rows that it needs
};

constexpr char const* name(trsv_method m) {
  constexpr char const* names[] = {"automatic", "serial", "levels", "sync_free"};
  return names[static_cast<std::size_t>(m)];
}

struct trsv_options {
  tulle::triangle triangle = tulle::triangle::lower;
  bool unit_diagonal = false;                  ///< ones, whatever is stored there
  trsv_method method = trsv_method::automatic; ///< the reference has one loop and ignores it
};

/// What trsv computes once per pattern: levels, the order of rows, who solves which. It keeps a
/// copy of the triangle's indices and no values: these may change between calls. Another pattern is
/// detected as by spmv_plan.
class trsv_plan : public plan {
public:
  template <matrix A>
  explicit trsv_plan(A const& a, trsv_options o = {}) : trsv_plan(where{}, a, o) {}
  template <matrix A>
  trsv_plan(where const& w, A const& a, trsv_options o = {}) {
    detail::with_operand(detail::view_of(a),
                         [&](detail::spmv_operand const& t) { make("trsv", w, t, 1, o); });
  }

  /// errc::bad_structure, or errc::shape_mismatch, where a is not of the pattern that the plan was
  /// made for: all indices are read.
  template <matrix A>
  void check(A const& a) {
    detail::with_operand(detail::view_of(a),
                         [&](detail::spmv_operand const& t) { check_operand(t); });
  }
  /// Makes the plan anew, for a, with the policy and the options that it has.
  template <matrix A>
  void rebind(A const& a) {
    detail::with_operand(detail::view_of(a), [&](detail::spmv_operand const& t) { rebind_to(t); });
  }
  /// The rows of the longest chain in which each depends on the one before; 0 of a plan that has
  /// not looked: serial, sync_free and reference.
  std::int64_t levels() const;

  struct state; // src/op/trsv.cpp
  ~trsv_plan();
  trsv_plan(trsv_plan&&) noexcept;
  trsv_plan& operator=(trsv_plan&&) noexcept;
  state& get() const {
    if (!state_)
      fail(errc::bad_structure, "trsv: the plan was moved from");
    return *state_;
  }

protected:
  trsv_plan() = default;
  void make(char const* op, where const& w, detail::spmv_operand const& a, std::size_t columns,
            trsv_options o);

private:
  void check_operand(detail::spmv_operand const& a);
  void rebind_to(detail::spmv_operand const& a);
  state* state_ = nullptr;
};

namespace detail {

/// The entry point of the library, for trsv and trsm: checks, makes a plan if none is given, runs.
void solve_triangle(char const* op, trsv_plan* plan, where const& w, value_kind kind,
                    void const* alpha, spmv_operand const& a, dense_ref const& b,
                    dense_ref const& x, trsv_options o);

/// alpha over the factors of all scaled() around a matrix; an alpha of zero does not read them.
template <class V, class View>
V alpha_over_factors(char const* op, V alpha, View const& a) {
  V const factor = factor_of<V>(a);
  if (alpha == V(0) || factor == V(1))
    return alpha;
  if (factor == V(0))
    fail(errc::bad_structure, "%s: A is scaled by zero", op);
  return alpha / factor;
}

template <class V, class A>
void trsv_typed(trsv_plan* plan, where const& w, V alpha, A const& a,
                std::type_identity_t<vector_view<V const>> b,
                std::type_identity_t<vector_view<V>> x, trsv_options o = {}) {
  auto const view = view_of(a);
  V const factor = alpha_over_factors("trsv", alpha, view);
  dense_view<V const> const from{b.data(), b.size(), 1, 1, b.size()};
  dense_view<V> const to{x.data(), x.size(), 1, 1, x.size()};
  with_operand(view, [&](spmv_operand const& operand) {
    solve_triangle("trsv", plan, w, kind_of<V>, &factor, operand, from, to, o);
  });
}

} // namespace detail

/// Solves op(T) x = alpha b, on the policy's backend. Without a plan by one thread, unless the
/// method is levels or sync_free: to find the levels takes as long as several solves.
template <typed_matrix A>
void trsv(where const& w, value_t<A> alpha, A const& a, vector_view<value_t<A> const> b,
          vector_view<value_t<A>> x, trsv_options o = {}) {
  detail::trsv_typed<value_t<A>>(nullptr, w, alpha, a, b, x, o);
}
/// The same where the data is.
template <typed_matrix A>
void trsv(value_t<A> alpha, A const& a, vector_view<value_t<A> const> b, vector_view<value_t<A>> x,
          trsv_options o = {}) {
  detail::trsv_typed<value_t<A>>(nullptr, where{}, alpha, a, b, x, o);
}
/// The same with what was planned for a's pattern, and the options of the plan.
template <typed_matrix A>
void trsv(trsv_plan& plan, value_t<A> alpha, A const& a, vector_view<value_t<A> const> b,
          vector_view<value_t<A>> x) {
  detail::trsv_typed<value_t<A>>(&plan, where{}, alpha, a, b, x);
}

/// For matrices whose type is known only at run time; x's elements give the value type.
template <matrix A, class B, class X>
requires(!typed_matrix<A>) void trsv(where const& w, element_t<X> alpha, A const& a, B const& b,
                                     X&& x, trsv_options o = {}) {
  detail::trsv_typed<element_t<X>>(nullptr, w, alpha, a, b, x, o);
}
template <matrix A, class B, class X>
requires(!typed_matrix<A>) void trsv(element_t<X> alpha, A const& a, B const& b, X&& x,
                                     trsv_options o = {}) {
  detail::trsv_typed<element_t<X>>(nullptr, where{}, alpha, a, b, x, o);
}
template <matrix A, class B, class X>
requires(!typed_matrix<A>) void trsv(trsv_plan& plan, element_t<X> alpha, A const& a, B const& b,
                                     X&& x) {
  detail::trsv_typed<element_t<X>>(&plan, where{}, alpha, a, b, x);
}

} // namespace tulle
