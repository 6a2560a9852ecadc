// SPDX-License-Identifier: Apache-2.0

/// C = alpha A + beta B of two sparse matrices, and D = alpha A + beta D of a sparse and a dense
/// one.
///
///     auto c = tulle::add(1.0, a, -1.0, b);                 // where the data is
///     auto plan = tulle::add_plan(a, b);                    // once per pair of patterns
///     auto const& c = tulle::add(plan, 1.0, a, dt, b);      // new values, allocates nothing
///     tulle::add(1.0, a, 0.0, tulle::row_major(d, n, n));   // a as a dense matrix
///
/// C is canonical and holds the places of A and of B for all factors, so its pattern does not
/// depend on values; alpha == 0 does not read A's values, nor beta == 0 B's or D's. An operand of
/// another format goes through csr. The result is the same for every number of threads.
#pragma once
#include "tulle/core/plan.hpp"
#include "tulle/op/add_method.hpp"
#include "tulle/op/detail/hub.hpp"
#include "tulle/view/dense.hpp"

namespace tulle {

/// What add computes once per pair of patterns: the pattern of C, and where each entry comes from.
/// It keeps its result, whose values each call renews. Other patterns are detected as by spmv_plan.
template <class V, class I, class O>
class add_plan : public plan {
public:
  add_plan(csr_view<V, I, O> a, csr_view<V, I, O> b) : add_plan(where{}, a, b) {}
  add_plan(csr<V, I, O> const& a, csr<V, I, O> const& b) : add_plan(where{}, a.view(), b.view()) {}
  add_plan(where const& w, csr<V, I, O> const& a, csr<V, I, O> const& b)
      : add_plan(w, a.view(), b.view()) {}
  add_plan(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b);
  /// The sum; bytes() does not include it.
  csr<V, I, O> const& result() const noexcept { return result_; }

  csr<V, I, O> const& run(V alpha, csr_view<V, I, O> a, V beta, csr_view<V, I, O> b);
  /// errc::bad_structure where a and b are not of the plan's patterns: all indices are read.
  void check(csr_view<V, I, O> a, csr_view<V, I, O> b);
  /// Makes the plan anew, for a and b.
  void rebind(csr_view<V, I, O> a, csr_view<V, I, O> b) { *this = add_plan(where_, a, b); }

private:
  void make(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b);
  void check_shape(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b) const;
  where where_;
  int parts_ = 1;
  bool a_canonical_ = true, b_canonical_ = true;
  detail::known_pattern a_, b_;
  csr<V, I, O> result_;
};
namespace detail {
template <class V, class I, class O>
csr<V, I, O> add(where const& w, V alpha, csr_view<V, I, O> a, V beta, csr_view<V, I, O> b,
                 add_options o);
template <class V, class I, class O>
void add(where const& w, V alpha, csr_view<V, I, O> a, V beta, dense_view<V> d);
} // namespace detail

/// C = alpha A + beta B on the policy's backend. A and B are of one type. The methods are those for
/// sparse vectors, row by row, the shape that products of sparse matrices have; automatic and merge
/// compare all rows of A and B before any value is read. All give the same bits.
template <detail::hub_operand A, detail::hub_operand B>
auto add(where const& w, value_t<A> alpha, A const& a, value_t<A> beta, B const& b,
         add_options o = {}) {
  detail::limited const space("add", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  auto const of_b = detail::built_hub_of(b, space.counted());
  return detail::add(space.rest(w), alpha, of_a.view, beta, of_b.view, o);
}
/// The same where the data is.
template <detail::hub_operand A, detail::hub_operand B>
auto add(value_t<A> alpha, A const& a, value_t<A> beta, B const& b, add_options o = {}) {
  return add(where{}, alpha, a, beta, b, o);
}
/// The same with what was planned for the patterns: the plan's own result.
template <class V, class I, class O, detail::hub_operand A, detail::hub_operand B>
csr<V, I, O> const& add(add_plan<V, I, O>& plan, std::type_identity_t<V> alpha, A const& a,
                        std::type_identity_t<V> beta, B const& b) {
  return plan.run(alpha, detail::view_of(a), beta, detail::view_of(b));
}

/// D = alpha A + beta D. D may not overlap the arrays of A.
template <detail::hub_operand A>
void add(where const& w, value_t<A> alpha, A const& a, value_t<A> beta, dense_view<value_t<A>> d) {
  detail::limited const space("add", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  detail::add(w, alpha, of_a.view, beta, d);
}
/// The same where the data is.
template <detail::hub_operand A>
void add(value_t<A> alpha, A const& a, value_t<A> beta, dense_view<value_t<A>> d) {
  add(where{}, alpha, a, beta, d);
}

} // namespace tulle
