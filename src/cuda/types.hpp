// SPDX-License-Identifier: Apache-2.0

// The pairs of types.def that have kernels: csr, csc and coo, their products and conversions have
// all, the others TULLE_TYPES.
#pragma once
#include "tulle/core/types.def"

#include "cuda/value.cuh"

#define TULLE_ALL_TYPES(X, ...)                                                                    \
  TULLE_TYPES(X __VA_OPT__(, ) __VA_ARGS__) TULLE_BASIC_TYPES(X __VA_OPT__(, ) __VA_ARGS__)

/// All pairs, with values as in kernels.
#define TULLE_KERNEL_TYPES(X, ...)                                                                 \
  TULLE_ALL_TYPES(TULLE_AS_IN_KERNELS, X __VA_OPT__(, ) __VA_ARGS__)
#define TULLE_AS_IN_KERNELS(tag, V, I, O, X, ...)                                                  \
  X(tag, ::tulle::kernels::cuda::plain<V>, I, O __VA_OPT__(, ) __VA_ARGS__)
