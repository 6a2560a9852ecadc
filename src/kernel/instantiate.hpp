// SPDX-License-Identifier: Apache-2.0

// What a kernel file includes. TULLE_ISA is the namespace of the instruction set it is being
// compiled for.
#pragma once
#include "tulle/core/types.def"

#include "kernel/spmv.hpp"

#include <cstdint>

// The kernel templates have internal linkage and a cell is a plain constant (lambdas here would be
// weak symbols), so an object file compiled for AVX-512 offers the linker nothing that another file
// could pick up by mistake.
#define TULLE_SPMV_CELL(tag, V, I, O, format)                                                      \
  static outcome prepare_##format##_##tag(void const* a, plan_view& plan, std::size_t& bytes) {    \
    bytes = prepare(*static_cast<format##_view<V, I, O> const*>(a), plan);                         \
    return {};                                                                                     \
  }                                                                                                \
  static outcome run_##format##_##tag(spmv_call const& c) {                                        \
    spmv(*static_cast<V const*>(c.alpha), *static_cast<format##_view<V, I, O> const*>(c.a),        \
         static_cast<V const*>(c.x), *static_cast<V const*>(c.beta), static_cast<V*>(c.y),         \
         *c.plan);                                                                                 \
    return {};                                                                                     \
  }                                                                                                \
  extern spmv_kernel const spmv_##format##_##tag;                                                  \
  spmv_kernel const spmv_##format##_##tag = {prepare_##format##_##tag, nullptr,                    \
                                             run_##format##_##tag};

/// The kernel for every pair of TULLE_TYPES.
#define TULLE_INSTANTIATE_SPMV(format) TULLE_TYPES(TULLE_SPMV_CELL, format)
/// And for those that only basic formats have.
#define TULLE_INSTANTIATE_SPMV_BASIC(format)                                                       \
  TULLE_TYPES(TULLE_SPMV_CELL, format) TULLE_BASIC_TYPES(TULLE_SPMV_CELL, format)

// The same with fill(view, plan).
#define TULLE_SPMV_FILLED_CELL(tag, V, I, O, format)                                               \
  static outcome prepare_##format##_##tag(void const* a, plan_view& plan, std::size_t& bytes) {    \
    bytes = prepare(*static_cast<format##_view<V, I, O> const*>(a), plan);                         \
    return {};                                                                                     \
  }                                                                                                \
  static outcome fill_##format##_##tag(void const* a, plan_view& plan) {                           \
    fill(*static_cast<format##_view<V, I, O> const*>(a), plan);                                    \
    return {};                                                                                     \
  }                                                                                                \
  static outcome run_##format##_##tag(spmv_call const& c) {                                        \
    spmv(*static_cast<V const*>(c.alpha), *static_cast<format##_view<V, I, O> const*>(c.a),        \
         static_cast<V const*>(c.x), *static_cast<V const*>(c.beta), static_cast<V*>(c.y),         \
         *c.plan);                                                                                 \
    return {};                                                                                     \
  }                                                                                                \
  extern spmv_kernel const spmv_##format##_##tag;                                                  \
  spmv_kernel const spmv_##format##_##tag = {prepare_##format##_##tag, fill_##format##_##tag,      \
                                             run_##format##_##tag};

#define TULLE_INSTANTIATE_SPMV_FILLED(format)                                                      \
  TULLE_TYPES(TULLE_SPMV_FILLED_CELL, format) TULLE_BASIC_TYPES(TULLE_SPMV_FILLED_CELL, format)
