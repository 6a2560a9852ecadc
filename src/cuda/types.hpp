// SPDX-License-Identifier: Apache-2.0

// The types of products of matrices on a device: those of every format, and 32-bit indices with
// offsets that count more than 2^31 entries.
#pragma once
#include "tulle/core/types.def"

#define TULLE_PRODUCT_TYPES(X, ...)                                                                \
  TULLE_TYPES(X __VA_OPT__(, ) __VA_ARGS__)                                                        \
  X(f32_i32_i64, float, std::int32_t, std::int64_t __VA_OPT__(, ) __VA_ARGS__)                     \
  X(f64_i32_i64, double, std::int32_t, std::int64_t __VA_OPT__(, ) __VA_ARGS__)
