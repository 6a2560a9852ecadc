// SPDX-License-Identifier: Apache-2.0

/// C = A B of two sparse matrices.
///
///     auto c = tulle::spgemm(a, b);                                       // where the data is
///     auto c = tulle::spgemm(tulle::cpu{.workspace_limit = 64_MiB}, a, b);
///     auto c = tulle::spgemm(tulle::cuda{.stream = s}, da, db);           // matrices on a device
///     auto plan = tulle::spgemm_plan(a, b);                               // once per two patterns
///     auto const& c = tulle::spgemm(plan, a, b);                          // new values
///     auto c = tulle::spgemm(2.0, a, b, -1.0, d);                         // 2 A B - D
///
/// C stores every place that a product falls on, even if the sum is zero; columns ascend in each
/// row. An entry is the sum of its products in the order of A's row, each rounded, so the result
/// has the same bits for every method, number of threads, instruction set and backend. An operand
/// of another format goes through csr; one that is not canonical is sorted first.
///
/// C is allocated once, with its exact size. In addition, a call on the host takes one byte per row
/// of A and of B, and per thread an accumulator as wide as B. If all products take at most 192 MiB,
/// rows are computed before C is allocated and kept until then, which takes up to the size of C once
/// more; else they are computed twice, at first without values. With a smaller workspace_limit,
/// fewer or no rows are kept, and wide ones are computed one tile of columns at a time, by fewer
/// threads if necessary; a higher limit never makes tiles narrower. Copies of operands that are not csr, or
/// not canonical, count. A limit that is too small is errc::out_of_memory, which names the least
/// sufficient one; if operands must be copied first, it may name what the copies need.
///
/// On a device a call takes one byte per row of A, up to two indices for each of those that are not
/// short, and, where rows have more than 4096 products far apart, 52 MiB at most, or two offsets
/// per row of B if those are more. Under a workspace_limit that is less, such rows go over B in
/// more turns. global_esc, merge and heap_esc_merge take more, and do not go in turns to save it.
/// esc and hash are for rows of up to 4096 products, heap for up to 32 entries of A's row; other
/// rows are tiled, by heap as by automatic. Calls wait for the device: the size of C depends on
/// what is there.
#pragma once
#include "tulle/core/plan.hpp"
#include "tulle/op/detail/hub.hpp"
#include "tulle/op/detail/operand.hpp"
#include "tulle/op/spgemm_method.hpp"

#include <complex>
#include <memory>

namespace tulle {

/// What spgemm computes once per two patterns: C's, and how each row is computed. The operands are
/// csr, on the host or on a device. It keeps its result, whose values each call renews. On the host
/// other patterns are detected as by spmv_plan. On a device the kernels rely on the index arrays it
/// was made for: operands with others need a plan of their own, or rebind().
///
/// On a device, by method automatic, it also keeps where each product falls, in two or four bytes,
/// if that is at most four times C and within the workspace_limit; not if rows share their columns,
/// which is as fast without. Making this map takes up to 17 more bytes per product, for 2^24
/// products at a time. A call goes on the plan's queue and is not waited for, unless an operand is
/// not canonical, the method is global_esc, merge or heap_esc_merge, or rows are scattered and
/// there is no such map; these take memory too.
class spgemm_plan : public plan {
public:
  template <detail::plain_matrix A, detail::plain_matrix B>
  spgemm_plan(A const& a, B const& b, spgemm_options o = {})
      : spgemm_plan(detail::home(a), a, b, o) {}
  template <detail::plain_matrix A, detail::plain_matrix B>
  spgemm_plan(where const& w, A const& a, B const& b, spgemm_options o = {}) {
    detail::with_matrix(a, [&](matrix_ref const& of_a) {
      detail::with_matrix(b, [&](matrix_ref const& of_b) { make(w, of_a, of_b, o); });
    });
  }
  template <matrix_on_device A, class B>
  spgemm_plan(cpu const&, A const&, B const&, spgemm_options = {}) = delete;

  /// The product of the last call, as large as it is, beside bytes(): result<csr<double>>(),
  /// result<any_matrix>() or result<device_matrix>(). errc::unsupported where it is another.
  template <class C>
  C const& result() const {
    if constexpr (std::is_same_v<C, device_matrix>) {
      return result_there();
    } else if constexpr (std::is_same_v<C, any_matrix>) {
      return result_here();
    } else {
      C const* const c = result_here().get_if<C>();
      if (!c)
        fail_type(name(owner_traits<C>::type));
      return *c;
    }
  }
  /// What it keeps beside the result.
  std::size_t bytes() const noexcept;

  /// errc::bad_structure where a and b are not of the plan's patterns: all indices are read. On a
  /// device: where they have other arrays.
  template <detail::plain_matrix A, detail::plain_matrix B>
  void check(A const& a, B const& b) {
    detail::with_matrix(a, [&](matrix_ref const& of_a) {
      detail::with_matrix(b, [&](matrix_ref const& of_b) { check_operands(of_a, of_b); });
    });
  }
  /// Makes the plan anew, for a and b, with the policy and the options that it has.
  template <detail::plain_matrix A, detail::plain_matrix B>
  void rebind(A const& a, B const& b) {
    detail::with_matrix(a, [&](matrix_ref const& of_a) {
      detail::with_matrix(b, [&](matrix_ref const& of_b) { rebind_to(of_a, of_b); });
    });
  }
  template <detail::plain_matrix A, detail::plain_matrix B>
  void run(A const& a, B const& b) {
    detail::with_matrix(a, [&](matrix_ref const& of_a) {
      detail::with_matrix(b, [&](matrix_ref const& of_b) { run_with(of_a, of_b); });
    });
  }

  struct state; // src/op/spgemm_plan.hpp
  ~spgemm_plan();
  spgemm_plan(spgemm_plan&&) noexcept;
  spgemm_plan& operator=(spgemm_plan&&) noexcept;

private:
  state& get() const;
  void make(where const& w, matrix_ref const& a, matrix_ref const& b, spgemm_options o);
  void check_operands(matrix_ref const& a, matrix_ref const& b);
  void rebind_to(matrix_ref const& a, matrix_ref const& b);
  void run_with(matrix_ref const& a, matrix_ref const& b);
  any_matrix const& result_here() const;
  device_matrix const& result_there() const;
  [[noreturn]] void fail_type(char const* wanted) const;
  struct drop_state {
    void operator()(state* s) const noexcept;
  };
  std::unique_ptr<state, drop_state> state_;
};

namespace detail {
template <class V, class I, class O>
csr<V, I, O> spgemm(where const& w, csr_view<V, I, O> a, csr_view<V, I, O> b, spgemm_options o,
                    std::size_t taken = 0); // of the limit, by the caller
template <class V, class I, class O>
csr<V, I, O> spgemm(where const& w, V alpha, csr_view<V, I, O> a, csr_view<V, I, O> b, V beta,
                    csr_view<V, I, O> d, spgemm_options o, std::size_t taken = 0);

/// The same of matrices on a device.
device_matrix spgemm(device const& where, matrix_ref const& a, matrix_ref const& b,
                     spgemm_options o);
device_matrix spgemm(device const& where, std::complex<double> alpha, matrix_ref const& a,
                     matrix_ref const& b, std::complex<double> beta, matrix_ref const& d,
                     spgemm_options o);
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
/// On a device, where A and B are.
template <detail::plain_matrix_on_device A, detail::plain_matrix_on_device B>
device_matrix spgemm(device const& where, A const& a, B const& b, spgemm_options o = {}) {
  return detail::with_matrix(a, [&](matrix_ref const& of_a) {
    return detail::with_matrix(
        b, [&](matrix_ref const& of_b) { return detail::spgemm(where, of_a, of_b, o); });
  });
}
template <detail::plain_matrix_on_device A, detail::plain_matrix_on_device B>
device_matrix spgemm(A const& a, B const& b, spgemm_options o = {}) {
  return spgemm(detail::home(a).as_device(), a, b, o);
}
/// The same with what was planned for the patterns: the plan's own result.
template <detail::plain_matrix A, detail::plain_matrix B>
detail::product_t<A> const& spgemm(spgemm_plan& plan, A const& a, B const& b) {
  plan.run(a, b);
  return plan.result<detail::product_t<A>>();
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

/// On a device; the factors are rounded to the type of the values, and complex only where those
/// are.
template <detail::plain_matrix_on_device A, detail::plain_matrix_on_device B,
          detail::plain_matrix_on_device D>
device_matrix spgemm(device const& where, std::complex<double> alpha, A const& a, B const& b,
                     std::complex<double> beta, D const& d, spgemm_options o = {}) {
  return detail::with_matrix(a, [&](matrix_ref const& of_a) {
    return detail::with_matrix(b, [&](matrix_ref const& of_b) {
      return detail::with_matrix(d, [&](matrix_ref const& of_d) {
        return detail::spgemm(where, alpha, of_a, of_b, beta, of_d, o);
      });
    });
  });
}
template <detail::plain_matrix_on_device A, detail::plain_matrix_on_device B,
          detail::plain_matrix_on_device D>
device_matrix spgemm(std::complex<double> alpha, A const& a, B const& b, std::complex<double> beta,
                     D const& d, spgemm_options o = {}) {
  return spgemm(detail::home(a).as_device(), alpha, a, b, beta, d, o);
}

/// For matrices whose type is known only at run time; a csr comes out.
any_matrix spgemm(where const& w, any_matrix const& a, any_matrix const& b, spgemm_options o = {});
inline any_matrix spgemm(any_matrix const& a, any_matrix const& b, spgemm_options o = {}) {
  return spgemm(where{}, a, b, o);
}

} // namespace tulle
