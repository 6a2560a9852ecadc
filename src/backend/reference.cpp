// SPDX-License-Identifier: Apache-2.0

// The reference's table: a plain loop for csr of each type. Other formats go through csr.
#include "tulle/core/registry.hpp"

#include "backend/host.hpp"
#include "backend/tables.hpp"
#include "reference/spmm.hpp"
#include "reference/spmv.hpp"

namespace tulle {
namespace {

outcome prepare(void const*, plan_view&, std::size_t& bytes) {
  bytes = 0;
  return {};
}
template <class V, class I, class O>
outcome run(spmv_call const& c) {
  kernels::reference::spmv(*static_cast<V const*>(c.alpha),
                           *static_cast<csr_view<V, I, O> const*>(c.a), c.plan->transposed,
                           static_cast<V const*>(c.x), *static_cast<V const*>(c.beta),
                           static_cast<V*>(c.y));
  return {};
}

outcome prepare_dense(void const*, detail::dense_ref const&, detail::dense_ref const&, plan_view&,
                      std::size_t& bytes) {
  bytes = 0;
  return {};
}
template <class V, class I, class O>
outcome run_dense(spmm_call const& k) {
  kernels::reference::spmm<V>(
      *static_cast<V const*>(k.alpha), *static_cast<csr_view<V, I, O> const*>(k.a),
      k.plan->transposed,
      {static_cast<V const*>(k.b.data), k.b.rows, k.b.cols, k.b.row_stride, k.b.col_stride},
      *static_cast<V const*>(k.beta),
      {static_cast<V*>(k.c.data), k.c.rows, k.c.cols, k.c.row_stride, k.c.col_stride});
  return {};
}

#define TULLE_SPMV(tag, V, I, O) {prepare, nullptr, run<V, I, O>},
#define TULLE_SPMM(tag, V, I, O) {prepare_dense, nullptr, run_dense<V, I, O>},
constexpr spmv_kernel spmv_of_csr[] = {TULLE_TYPES(TULLE_SPMV) TULLE_BASIC_TYPES(TULLE_SPMV)};
constexpr spmm_kernel spmm_of_csr[] = {TULLE_TYPES(TULLE_SPMM) TULLE_BASIC_TYPES(TULLE_SPMM)};
#undef TULLE_SPMV
#undef TULLE_SPMM

spmv_kernel const* spmv(int f, int type) {
  return f == static_cast<int>(format::csr) ? &spmv_of_csr[type] : nullptr;
}
spmm_kernel const* spmm(int f, int type) {
  return f == static_cast<int>(format::csr) ? &spmm_of_csr[type] : nullptr;
}
outcome describe(int, device_properties& to) {
  return host::describe(to, "");
}

} // namespace

constexpr backend_table reference_table = host::table(backend::reference, describe, spmv, spmm);

} // namespace tulle
