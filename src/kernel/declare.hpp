// SPDX-License-Identifier: Apache-2.0

// What the dispatcher includes: the name of every kernel cell of every instruction set, and no
// kernel body.
#pragma once
#include "tulle/core/types.hpp"

#include "kernel/spmv.hpp"

// A backend with a kernel for this format has a cell for each type; NONE has none.
#define TULLE_DECLARE_CELL(tag, V, I, O, format) extern spmv_kernel const spmv_##format##_##tag;
#define TULLE_DECLARE_every(format) TULLE_TYPES(TULLE_DECLARE_CELL, format)
#define TULLE_DECLARE_basic(format)                                                                \
  TULLE_TYPES(TULLE_DECLARE_CELL, format) TULLE_BASIC_TYPES(TULLE_DECLARE_CELL, format)

namespace tulle::simd {
#define TULLE_FORMAT(name, types, spmv, spmm) TULLE_DECLARE_##types(name)
namespace baseline {
#include "tulle/format/formats.def"
}
#ifdef __x86_64__
namespace avx2 {
#include "tulle/format/formats.def"
}
namespace avx512 {
#include "tulle/format/formats.def"
}
#endif
#undef TULLE_FORMAT
} // namespace tulle::simd
