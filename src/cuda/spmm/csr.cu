// SPDX-License-Identifier: Apache-2.0

// C = alpha A B + beta C, A in csr, by rows.cuh.
#include "tulle/core/types.hpp"
#include "tulle/format/csr.hpp"

#include "cuda/spmm/rows.cuh"

namespace tulle::kernels::cuda {
namespace {

template <class V, class I, class O>
using view = csr_view<V, I, O, space::cuda>;

template <class V, class I, class O>
struct spmm_cell {
  static view<V, I, O> const& of(void const* a) { return *static_cast<view<V, I, O> const*>(a); }
  static outcome prepare(void const* a, detail::dense_ref const& b, detail::dense_ref const&,
                         plan_view& p, std::size_t& bytes) {
    return guarded([&] {
      device_guard const on(p.device);
      bytes = prepare_dense<V>(of(a).rows, of(a).nnz, of(a).row_ptr, b, p);
    });
  }
  static outcome fill(void const* a, detail::dense_ref const& b, plan_view& p) {
    return guarded([&] {
      device_guard const on(p.device);
      fill_dense<V>(of(a).rows, of(a).row_ptr, b, p);
    });
  }
  static outcome run(spmm_call const& k) {
    return guarded([&] {
      device_guard const on(k.plan->device);
      auto const& a = of(k.a);
      multiply_dense(factor_at<V>(k.alpha),
                     lines<V, I, O>{a.rows, a.nnz, a.row_ptr, a.col, a.val, nullptr}, no_overflow(),
                     k.b, factor_at<V>(k.beta), k.c, *k.plan, k.plan->stream);
    });
  }
};

} // namespace

#define TULLE_SPMM_DEFINE(tag, V, I, O)                                                            \
  extern spmm_kernel const spmm_csr_##tag;                                                         \
  spmm_kernel const spmm_csr_##tag = {spmm_cell<V, I, O>::prepare, spmm_cell<V, I, O>::fill,       \
                                      spmm_cell<V, I, O>::run};
TULLE_KERNEL_TYPES(TULLE_SPMM_DEFINE)

} // namespace tulle::kernels::cuda
