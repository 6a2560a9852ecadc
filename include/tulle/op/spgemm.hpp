// SPDX-License-Identifier: Apache-2.0

/// C = A B of two sparse matrices.
///
///     auto c = tulle::spgemm(a, b);                                       // where the data is
///     auto c = tulle::spgemm(tulle::cpu{.workspace_limit = 64_MiB}, a, b);
///     auto plan = tulle::spgemm_plan(a, b);                               // once per two patterns
///     auto const& c = tulle::spgemm(plan, a, b);                          // new values
///     auto c = tulle::spgemm(2.0, a, b, -1.0, d);                         // 2 A B - D
///
/// C holds the places that products fall on, whatever their values are, in rows of ascending
/// columns. An entry is the sum of its products in the order of A's row, each rounded, so the
/// result has the same bits for every method, number of threads and instruction set. An operand of
/// another format goes through csr; one that is not canonical is sorted first.
///
/// C is allocated once, as large as it is. Beside it and the operands, a call takes a byte for each
/// row of A and of B, and for each thread an accumulator as wide as the widest row. With less than
/// that as workspace_limit, wide rows are computed a tile of columns at a time, by fewer threads
/// where there is little; more of it never makes tiles narrower. Copies of operands that are not
/// csr, or not canonical, count. A limit that is too small is errc::out_of_memory, which names the
/// least one that is not; of operands that must be copied first it may name the least for that.
#pragma once
#include "tulle/core/plan.hpp"
#include "tulle/op/detail/hub.hpp"
#include "tulle/op/spgemm_method.hpp"

#include <memory>

namespace tulle {

namespace detail {
class spgemm_stages;
struct spgemm_stages_deleter {
  void operator()(spgemm_stages* s) const noexcept;
};
} // namespace detail

/// What spgemm computes once per two patterns: C's, and how each row is computed. It keeps its
/// result, whose values each call renews. A call tells other patterns as with spmv_plan.
template <class V, class I, class O>
class spgemm_plan : public plan {
public:
  spgemm_plan(csr_view<V, I, O> a, csr_view<V, I, O> b, spgemm_options o = {})
      : spgemm_plan(where{}, a, b, o) {}
  spgemm_plan(csr<V, I, O> const& a, csr<V, I, O> const& b, spgemm_options o = {})
      : spgemm_plan(where{}, a.view(), b.view(), o) {}
  spgemm_plan(where const& w, csr<V, I, O> const& a, csr<V, I, O> const& b, spgemm_options o = {})
      : spgemm_plan(w, a.view(), b.view(), o) {}
  spgemm_plan(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b, spgemm_options o = {});
  /// As large as the product, beside bytes().
  csr<V, I, O> const& result() const noexcept { return result_; }
  std::size_t bytes() const noexcept;

  csr<V, I, O> const& run(csr_view<V, I, O> a, csr_view<V, I, O> b);
  /// errc::bad_structure where a and b are not of the plan's patterns: all indices are read.
  void check(csr_view<V, I, O> a, csr_view<V, I, O> b);
  /// Makes the plan anew, for a and b.
  void rebind(csr_view<V, I, O> a, csr_view<V, I, O> b) {
    *this = spgemm_plan(where_, a, b, options_);
  }

private:
  void make(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b);
  void check_shape(csr_view<V, I, O> const& a, csr_view<V, I, O> const& b) const;
  where where_;
  spgemm_options options_;
  bool a_canonical_ = true, b_canonical_ = true;
  detail::known_pattern a_, b_;
  std::unique_ptr<detail::spgemm_stages, detail::spgemm_stages_deleter> stages_;
  csr<V, I, O> result_;
};
namespace detail {
template <class V, class I, class O>
csr<V, I, O> spgemm(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b, spgemm_options o,
                    std::size_t taken = 0); // of the limit, by the caller
template <class V, class I, class O>
csr<V, I, O> spgemm(where const& w, V alpha, csr_view<V, I, O> a, csr_view<V, I, O> b, V beta,
                    csr_view<V, I, O> d, spgemm_options o, std::size_t taken = 0);
} // namespace detail

/// C = A B on the policy's backend. A and B are of one type.
template <detail::hub_operand A, detail::hub_operand B>
auto spgemm(where const& w, A const& a, B const& b, spgemm_options o = {}) {
  detail::limited const space("spgemm", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  auto const of_b = detail::built_hub_of(b, space.counted());
  return detail::spgemm(w, of_a.view, of_b.view, o, space.taken());
}
/// The same where the data is.
template <detail::hub_operand A, detail::hub_operand B>
auto spgemm(A const& a, B const& b, spgemm_options o = {}) {
  return spgemm(where{}, a, b, o);
}
/// The same with what was planned for the patterns: the plan's own result.
template <class V, class I, class O, detail::hub_operand A, detail::hub_operand B>
csr<V, I, O> const& spgemm(spgemm_plan<V, I, O>& plan, A const& a, B const& b) {
  return plan.run(detail::view_of(a), detail::view_of(b));
}

/// C = alpha A B + beta D. C holds the places of A B and of D whatever the factors are; alpha == 0
/// does not read the values of A and B, nor beta == 0 those of D. A is multiplied by alpha first,
/// and beta d is added last. Takes copies of A, B and D, and no product beside C.
template <detail::hub_operand A, detail::hub_operand B, detail::hub_operand D>
auto spgemm(where const& w, value_t<A> alpha, A const& a, B const& b, value_t<A> beta, D const& d,
            spgemm_options o = {}) {
  detail::limited const space("spgemm", w);
  auto const of_a = detail::built_hub_of(a, space.counted());
  auto const of_b = detail::built_hub_of(b, space.counted());
  auto const of_d = detail::built_hub_of(d, space.counted());
  return detail::spgemm(w, alpha, of_a.view, of_b.view, beta, of_d.view, o, space.taken());
}
/// The same where the data is.
template <detail::hub_operand A, detail::hub_operand B, detail::hub_operand D>
auto spgemm(value_t<A> alpha, A const& a, B const& b, value_t<A> beta, D const& d,
            spgemm_options o = {}) {
  return spgemm(where{}, alpha, a, b, beta, d, o);
}

/// For matrices whose type only run time tells; a csr comes out.
any_matrix spgemm(where const& w, any_matrix const& a, any_matrix const& b, spgemm_options o = {});
inline any_matrix spgemm(any_matrix const& a, any_matrix const& b, spgemm_options o = {}) {
  return spgemm(where{}, a, b, o);
}

} // namespace tulle
