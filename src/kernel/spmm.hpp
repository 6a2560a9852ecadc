// SPDX-License-Identifier: Apache-2.0

// What passes between the dispatcher and a spmm kernel; plans are those of spmv.
#pragma once
#include "tulle/core/types.def"
#include "tulle/view/dense.hpp"

#include "kernel/spmv.hpp"

namespace tulle {

struct spmm_call {
  void const* alpha;
  void const* a; // the format's view
  detail::dense_ref b;
  void const* beta;
  detail::dense_ref c;
  plan_view const* plan;
};

/// One cell of the dispatch table.
struct spmm_kernel {
  /// Of b and c shapes and strides count. Returns the bytes of workspace it needs.
  std::size_t (*prepare)(void const* a, detail::dense_ref const& b, detail::dense_ref const& c,
                         plan_view& plan);
  void (*run)(spmm_call const& call);
};

} // namespace tulle

// A cell calls the file's own prepare(view, b, c, plan) and spmm(alpha, view, b, beta, c, plan):
// see kernel/instantiate.hpp.
#define TULLE_SPMM_CELL(tag, V, I, O, format)                                                      \
  static std::size_t prepare_##format##_##tag(void const* a, detail::dense_ref const& b,           \
                                              detail::dense_ref const& c, plan_view& plan) {       \
    return prepare(*static_cast<format##_view<V, I, O> const*>(a), b, c, plan);                    \
  }                                                                                                \
  static void run_##format##_##tag(spmm_call const& k) {                                           \
    spmm(*static_cast<V const*>(k.alpha), *static_cast<format##_view<V, I, O> const*>(k.a), k.b,   \
         *static_cast<V const*>(k.beta), k.c, *k.plan);                                            \
  }                                                                                                \
  extern spmm_kernel const spmm_##format##_##tag;                                                  \
  spmm_kernel const spmm_##format##_##tag = {prepare_##format##_##tag, run_##format##_##tag};

/// The kernel for every pair of TULLE_TYPES.
#define TULLE_INSTANTIATE_SPMM(format) TULLE_TYPES(TULLE_SPMM_CELL, format)
/// And for those that only basic formats have.
#define TULLE_INSTANTIATE_SPMM_BASIC(format)                                                       \
  TULLE_TYPES(TULLE_SPMM_CELL, format) TULLE_BASIC_TYPES(TULLE_SPMM_CELL, format)
