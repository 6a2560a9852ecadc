// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu_csr.hpp"

#include "kernel/sddmm.hpp"
#include "kernel/spgemm.hpp"
#include "kernel/trsv.hpp"

namespace tulle {

#ifdef __x86_64__
#define TULLE_EACH_SET(f, ...) f(baseline, __VA_ARGS__) f(avx2, __VA_ARGS__) f(avx512, __VA_ARGS__)
#else
#define TULLE_EACH_SET(f, ...) f(baseline, __VA_ARGS__)
#endif
#define TULLE_DECLARE_CELL(tag, V, I, O, op, kernel) extern kernel const op##_csr_##tag;
#define TULLE_DECLARE_SET(set, op, kernel)                                                         \
  namespace kernels::set {                                                                         \
  TULLE_TYPES(TULLE_DECLARE_CELL, op, kernel) TULLE_BASIC_TYPES(TULLE_DECLARE_CELL, op, kernel)    \
  }
#define TULLE_CELL(tag, V, I, O, set, op) &kernels::set::op##_csr_##tag,
#define TULLE_ROW(set, op, kernel)                                                                 \
  {TULLE_TYPES(TULLE_CELL, set, op) TULLE_BASIC_TYPES(TULLE_CELL, set, op)},
#define TULLE_TABLE(op, kernel)                                                                    \
  TULLE_EACH_SET(TULLE_DECLARE_SET, op, kernel)                                                    \
  namespace formats {                                                                              \
  kernel const& cpu_##op(isa i, type_tag t) {                                                      \
    static constexpr kernel const* table[isa_count][type_count] = {                                \
        TULLE_EACH_SET(TULLE_ROW, op, kernel)};                                                    \
    return *table[static_cast<std::size_t>(i)][static_cast<std::size_t>(t)];                       \
  }                                                                                                \
  }

TULLE_TABLE(spgemm, spgemm_kernel)
TULLE_TABLE(sddmm, sddmm_kernel)
TULLE_TABLE(trsv, triangle_kernel)

} // namespace tulle
