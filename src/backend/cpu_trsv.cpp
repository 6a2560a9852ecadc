// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu_trsv.hpp"

namespace tulle {

#define TULLE_DECLARE_CELL(tag, V, I, O) extern triangle_kernel const trsv_csr_##tag;
#define TULLE_DECLARE_SET(set)                                                                     \
  namespace kernels::set {                                                                         \
  TULLE_TYPES(TULLE_DECLARE_CELL) TULLE_BASIC_TYPES(TULLE_DECLARE_CELL)                            \
  }
TULLE_DECLARE_SET(baseline)
#ifdef __x86_64__
TULLE_DECLARE_SET(avx2)
TULLE_DECLARE_SET(avx512)
#endif
#undef TULLE_DECLARE_CELL
#undef TULLE_DECLARE_SET

namespace formats {
namespace {

#define TULLE_CELL(tag, V, I, O, set) &kernels::set::trsv_csr_##tag,
#define TULLE_ROW(set) {TULLE_TYPES(TULLE_CELL, set) TULLE_BASIC_TYPES(TULLE_CELL, set)},
constexpr triangle_kernel const* table[isa_count][type_count] = {TULLE_ROW(baseline)
#ifdef __x86_64__
                                                                     TULLE_ROW(avx2)
                                                                         TULLE_ROW(avx512)
#endif
};
#undef TULLE_CELL
#undef TULLE_ROW

} // namespace

triangle_kernel const& cpu_trsv(isa i, type_tag t) {
  return *table[static_cast<std::size_t>(i)][static_cast<std::size_t>(t)];
}

} // namespace formats
} // namespace tulle
