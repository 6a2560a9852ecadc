// SPDX-License-Identifier: Apache-2.0

/// The transpose of a matrix, as csr.
///
///     auto t = tulle::transpose(a);                       // where the data is
///     auto h = tulle::transpose(tulle::cpu{.threads = 4}, a, {.conjugate = true});
///     auto plan = tulle::transpose_plan(a);               // once per pattern
///     auto const& t = tulle::transpose(plan, a);          // new values, allocates nothing
///
/// Rows of the result are sorted; duplicates stay and keep their order. An operand of another
/// format goes through csr. The result is the same for every number of threads.
#pragma once
#include "tulle/core/plan.hpp"
#include "tulle/op/detail/hub.hpp"

namespace tulle {

struct transpose_options {
  bool conjugate = false; ///< A^H instead of A^T
};

/// What transpose computes once per pattern: where each entry goes. It keeps its result, whose
/// values each call renews. Another pattern is detected as by spmv_plan.
template <class V, class I, class O>
class transpose_plan : public plan {
public:
  explicit transpose_plan(csr_view<V, I, O> a, transpose_options o = {})
      : transpose_plan(where{}, a, o) {}
  explicit transpose_plan(csr<V, I, O> const& a, transpose_options o = {})
      : transpose_plan(where{}, a.view(), o) {}
  transpose_plan(where const& w, csr<V, I, O> const& a, transpose_options o = {})
      : transpose_plan(w, a.view(), o) {}
  transpose_plan(where const& w, csr_view<V, I, O> a, transpose_options o = {});
  /// The transpose; bytes() does not include it.
  csr<V, I, O> const& result() const noexcept { return result_; }

  csr<V, I, O> const& run(csr_view<V, I, O> a);
  /// errc::bad_structure where a is not of the plan's pattern: all indices are read.
  void check(csr_view<V, I, O> a);
  /// Makes the plan anew, for a.
  void rebind(csr_view<V, I, O> a) { *this = transpose_plan(where_, a, options_); }

private:
  void make(csr_view<V, I, O> const& a);
  void check_shape(csr_view<V, I, O> const& a) const;
  where where_;
  transpose_options options_;
  detail::known_pattern a_;
  csr<V, I, O> result_;
};
namespace detail {
template <class V, class I, class O>
csr<V, I, O> transpose(where const& w, csr_view<V, I, O> a, transpose_options o);
} // namespace detail

/// A^T on the policy's backend.
template <detail::hub_operand A>
auto transpose(where const& w, A const& a, transpose_options o = {}) {
  detail::limited const space("transpose", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  return detail::transpose(space.rest(w), of_a.view, o);
}
/// The same where the data is.
template <detail::hub_operand A>
auto transpose(A const& a, transpose_options o = {}) {
  return transpose(where{}, a, o);
}
/// The same with what was planned for a's pattern: the plan's own result, with a's values.
template <class V, class I, class O, detail::hub_operand A>
csr<V, I, O> const& transpose(transpose_plan<V, I, O>& plan, A const& a) {
  return plan.run(detail::view_of(a));
}

/// For matrices whose type is known only at run time; a csr comes out.
any_matrix transpose(where const& w, any_matrix const& a, transpose_options o = {});
inline any_matrix transpose(any_matrix const& a, transpose_options o = {}) {
  return transpose(where{}, a, o);
}

} // namespace tulle
