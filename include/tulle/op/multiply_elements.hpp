// SPDX-License-Identifier: Apache-2.0

/// C = A .* B, element by element, of two sparse matrices, and of a sparse and a dense one.
///
///     auto c = tulle::multiply_elements(a, b);              // where the data is
///     auto plan = tulle::multiply_elements_plan(a, b);      // once per pair of patterns
///     auto const& c = tulle::multiply_elements(plan, a, b); // new values, allocates nothing
///     auto d = tulle::multiply_elements(a, tulle::row_major(x, n, m));
///
/// C is canonical and has the places that both A and B have, or those of A where B is dense: an Inf
/// or NaN elsewhere is not met. Zeros that come out are stored. Duplicates are added up first. An
/// operand of another format goes through csr. The first argument may be a policy. Same bits for
/// every number of threads. There is no device kernel: a policy that names a device is
/// errc::unsupported.
///
/// Workspace: a copy of an operand whose rows are unsorted or have duplicates. A plan keeps two
/// offsets per entry of C. workspace_limit bounds both.
#pragma once
#include "tulle/core/plan.hpp"
#include "tulle/op/detail/hub.hpp"
#include "tulle/view/dense.hpp"

namespace tulle {

/// What multiply_elements computes once per pair of patterns: the pattern of C, and where each
/// entry comes from. It keeps its result, whose values each call renews. Other patterns are
/// detected as by spmv_plan.
template <class V, class I, class O>
class multiply_elements_plan : public plan {
public:
  multiply_elements_plan(csr_view<V, I, O> a, csr_view<V, I, O> b)
      : multiply_elements_plan(where{}, a, b) {}
  multiply_elements_plan(csr<V, I, O> const& a, csr<V, I, O> const& b)
      : multiply_elements_plan(where{}, a.view(), b.view()) {}
  multiply_elements_plan(where const& w, csr<V, I, O> const& a, csr<V, I, O> const& b)
      : multiply_elements_plan(w, a.view(), b.view()) {}
  multiply_elements_plan(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b);
  /// The product; bytes() does not include it.
  csr<V, I, O> const& result() const noexcept { return result_; }

  csr<V, I, O> const& run(csr_view<V, I, O> a, csr_view<V, I, O> b);
  /// errc::bad_structure where a and b are not of the plan's patterns: all indices are read.
  void check(csr_view<V, I, O> a, csr_view<V, I, O> b);
  /// Makes the plan anew, for a and b.
  void rebind(csr_view<V, I, O> a, csr_view<V, I, O> b) {
    *this = multiply_elements_plan(where_, a, b);
  }

private:
  void make(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b);
  void check_shape(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b) const;
  where where_;
  bool a_canonical_ = true, b_canonical_ = true;
  detail::known_pattern a_, b_;
  csr<V, I, O> result_;
};
namespace detail {
/// src/op/multiply_elements.cpp.
template <class V, class I, class O>
csr<V, I, O> multiply_elements(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b);
template <class V, class I, class O>
csr<V, I, O> multiply_elements(where const& w, csr_view<V, I, O> a, dense_view<V const> b);
} // namespace detail

/// C = A .* B on the policy's backend. A and B are of one type.
template <detail::hub_operand A, detail::hub_operand B>
auto multiply_elements(where const& w, A const& a, B const& b) {
  detail::limited const space("multiply_elements", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  auto const of_b = detail::built_hub_of(b, space.counted());
  return detail::multiply_elements(space.rest(w), of_a.view, of_b.view);
}
/// The same where the data is.
template <detail::hub_operand A, detail::hub_operand B>
auto multiply_elements(A const& a, B const& b) {
  return multiply_elements(where{}, a, b);
}
/// The same with what was planned for the patterns: the plan's own result.
template <class V, class I, class O, detail::hub_operand A, detail::hub_operand B>
csr<V, I, O> const& multiply_elements(multiply_elements_plan<V, I, O>& plan, A const& a,
                                      B const& b) {
  return plan.run(detail::view_of(a), detail::view_of(b));
}

/// Of a sparse and a dense matrix.
template <detail::hub_operand A>
auto multiply_elements(where const& w, A const& a, dense_view<value_t<A> const> b) {
  detail::limited const space("multiply_elements", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  return detail::multiply_elements(space.rest(w), of_a.view, b);
}
template <detail::hub_operand A>
auto multiply_elements(A const& a, dense_view<value_t<A> const> b) {
  return multiply_elements(where{}, a, b);
}

} // namespace tulle
