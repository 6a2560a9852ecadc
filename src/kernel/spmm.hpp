// SPDX-License-Identifier: Apache-2.0

// What passes between op/spmm and its kernels; plans are those of spmv.
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

/// One cell of a backend's table, as spmv's; of b and c shapes and strides count.
struct spmm_kernel {
  outcome (*prepare)(void const* a, detail::dense_ref const& b, detail::dense_ref const& c,
                     plan_view& plan, std::size_t& bytes);
  outcome (*fill)(void const* a, detail::dense_ref const& b, plan_view& plan);
  outcome (*run)(spmm_call const& call);
};

} // namespace tulle

// A cell calls the file's own prepare(view, b, c, plan) and spmm(alpha, view, b, beta, c, plan):
// see kernel/instantiate.hpp.
#define TULLE_SPMM_CELL(tag, V, I, O, format)                                                      \
  static outcome prepare_##format##_##tag(void const* a, detail::dense_ref const& b,               \
                                          detail::dense_ref const& c, plan_view& plan,             \
                                          std::size_t& bytes) {                                    \
    bytes = prepare(*static_cast<format##_view<V, I, O> const*>(a), b, c, plan);                   \
    return {};                                                                                     \
  }                                                                                                \
  static outcome run_##format##_##tag(spmm_call const& k) {                                        \
    spmm(*static_cast<V const*>(k.alpha), *static_cast<format##_view<V, I, O> const*>(k.a), k.b,   \
         *static_cast<V const*>(k.beta), k.c, *k.plan);                                            \
    return {};                                                                                     \
  }                                                                                                \
  extern spmm_kernel const spmm_##format##_##tag;                                                  \
  spmm_kernel const spmm_##format##_##tag = {prepare_##format##_##tag, nullptr,                    \
                                             run_##format##_##tag};

/// The kernel for every pair of TULLE_TYPES.
#define TULLE_INSTANTIATE_SPMM(format) TULLE_TYPES(TULLE_SPMM_CELL, format)
/// And for those that only basic formats have.
#define TULLE_INSTANTIATE_SPMM_BASIC(format)                                                       \
  TULLE_TYPES(TULLE_SPMM_CELL, format) TULLE_BASIC_TYPES(TULLE_SPMM_CELL, format)
