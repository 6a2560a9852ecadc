// SPDX-License-Identifier: Apache-2.0

// C = alpha A B + beta C, A in csr, by rows.cuh.
#include "tulle/core/types.hpp"
#include "tulle/format/csr.hpp"

#include "cuda/spmm/rows.cuh"
#include "cuda/spmm/table.hpp"

namespace tulle::simt {
namespace {

template <class V, class I, class O>
using view = csr_view<V, I, O, space::device>;

template <class V, class I, class O>
struct spmm_cell {
  static view<V, I, O> const& of(void const* a) { return *static_cast<view<V, I, O> const*>(a); }
  static cuda_status prepare(void const* a, detail::dense_ref const& b, detail::dense_ref const&,
                             plan_view& p, std::size_t& bytes) {
    return guarded([&] {
      device_guard const on(p.device);
      bytes = prepare_dense<V>(of(a).rows, of(a).nnz, of(a).row_ptr, b, p);
    });
  }
  static cuda_status fill(void const* a, detail::dense_ref const& b, plan_view& p) {
    return guarded([&] {
      device_guard const on(p.device);
      fill_dense<V>(of(a).rows, of(a).row_ptr, b, p);
    });
  }
  static cuda_status run(spmm_call const& k) {
    return guarded([&] {
      device_guard const on(k.plan->device);
      auto const& a = of(k.a);
      multiply_dense(factor_at<V>(k.alpha),
                     lines<V, I, O>{a.rows, a.nnz, a.row_ptr, a.col, a.val, nullptr},
                     no_overflow(), k.b, factor_at<V>(k.beta), k.c, *k.plan, k.plan->stream);
    });
  }
};

} // namespace

#define TULLE_SPMM_DEFINE(tag, V, I, O)                                                            \
  extern cuda_spmm_kernel const spmm_csr_##tag;                                                    \
  cuda_spmm_kernel const spmm_csr_##tag = {spmm_cell<V, I, O>::prepare, spmm_cell<V, I, O>::fill,  \
                                           spmm_cell<V, I, O>::run};
TULLE_KERNEL_TYPES(TULLE_SPMM_DEFINE)

// The module's table of these.
#define TULLE_SPMM_DECLARE(tag, V, I, O, format)                                                   \
  extern cuda_spmm_kernel const spmm_##format##_##tag;
#define TULLE_EACH_every(X, ...) TULLE_TYPES(X, __VA_ARGS__)
#define TULLE_EACH_basic(X, ...) TULLE_ALL_TYPES(X, __VA_ARGS__)
#define TULLE_FORMAT(name, types, spmv, spmm) TULLE_EACH_##types(TULLE_SPMM_DECLARE, name)
#include "tulle/format/formats.def"
#undef TULLE_FORMAT

namespace {

enum : unsigned { NONE, CPU, CUDA, OPENCL = 4 }; // the words of formats.def

struct row {
  cuda_spmm_kernel const* cell[type_count];
};
#define TULLE_SPMM_ENTRY(tag, V, I, O, format, backends)                                           \
  ((backends)&CUDA) != 0 ? &spmm_##format##_##tag : nullptr,
#define TULLE_FORMAT(name, types, spmv, spmm) {{TULLE_EACH_##types(TULLE_SPMM_ENTRY, name, spmm)}},
constexpr row kernels[] = {
#include "tulle/format/formats.def"
};
#undef TULLE_FORMAT

cuda_spmm_kernel const* kernel(int format, int type) {
  return kernels[format].cell[type];
}

#define TULLE_SCALE(tag, V, I, O)                                                                  \
  case type_tag::tag:                                                                              \
    check_aligned(static_cast<V const*>(c.data));                                                  \
    return scale_dense(factor_at<V>(beta), c, stream);
cuda_status scale(int device, void* stream, int type, void const* beta,
                  detail::dense_ref const& c) {
  return guarded([&] {
    device_guard const on(device);
    switch (static_cast<type_tag>(type)) { TULLE_KERNEL_TYPES(TULLE_SCALE) }
  });
}

template <class V>
void copy_column(V* to, std::size_t to_stride, V const* from, std::size_t from_stride,
                 std::size_t n, void* stream) {
  check_aligned<V, V>(to, from);
  simt::each(n, stream,
             [=] __device__(std::size_t k) { to[k * to_stride] = from[k * from_stride]; });
}
#define TULLE_COPY(tag, V, I, O)                                                                   \
  case type_tag::tag:                                                                              \
    return copy_column(static_cast<V*>(to), to_stride, static_cast<V const*>(from), from_stride,   \
                       n, stream);
cuda_status copy(int device, void* stream, int type, void* to, std::size_t to_stride,
                 void const* from, std::size_t from_stride, std::size_t n) {
  return guarded([&] {
    device_guard const on(device);
    switch (static_cast<type_tag>(type)) { TULLE_KERNEL_TYPES(TULLE_COPY) }
  });
}

constexpr cuda_spmm_module table = {cuda_module_version, kernel, scale, copy};

} // namespace
} // namespace tulle::simt

extern "C" __attribute__((visibility("default"))) tulle::cuda_spmm_module const*
tulle_cuda_spmm_module() {
  return &tulle::simt::table;
}
