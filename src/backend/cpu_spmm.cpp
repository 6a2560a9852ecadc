// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu.hpp"

#include "dispatch/backends.hpp"

namespace tulle {

#define TULLE_SPMM_DECLARE(tag, V, I, O, format) extern spmm_kernel const spmm_##format##_##tag;
#define TULLE_SPMM_DECLARE_every(format) TULLE_TYPES(TULLE_SPMM_DECLARE, format)
#define TULLE_SPMM_DECLARE_basic(format)                                                           \
  TULLE_SPMM_DECLARE_every(format) TULLE_BASIC_TYPES(TULLE_SPMM_DECLARE, format)
#define TULLE_FORMAT(name, types, spmv, spmm) TULLE_SPMM_DECLARE_##types(name)
namespace simd::baseline {
#include "tulle/format/formats.def"
}
#ifdef __x86_64__
namespace simd::avx2 {
#include "tulle/format/formats.def"
}
namespace simd::avx512 {
#include "tulle/format/formats.def"
}
#endif
#undef TULLE_FORMAT

namespace {

struct spmm_row {
  spmm_kernel const* cell[type_count];
};

// Most formats have no kernel of their own, and no cell.
#define TULLE_SPMM_ENTRY(tag, V, I, O, set, format, backends)                                      \
  ((backends) & dispatch::CPU) != 0 ? &simd::set::spmm_##format##_##tag : nullptr,
#define TULLE_SPMM_ROW_every(...) {{TULLE_TYPES(TULLE_SPMM_ENTRY, __VA_ARGS__)}},
#define TULLE_SPMM_ROW_basic(...)                                                                  \
  {{TULLE_TYPES(TULLE_SPMM_ENTRY, __VA_ARGS__) TULLE_BASIC_TYPES(TULLE_SPMM_ENTRY, __VA_ARGS__)}},

#define TULLE_FORMAT(name, types, spmv, spmm) TULLE_SPMM_ROW_##types(baseline, name, spmm)
constexpr spmm_row spmm_baseline[] = {
#include "tulle/format/formats.def"
};
#undef TULLE_FORMAT
#ifdef __x86_64__
#define TULLE_FORMAT(name, types, spmv, spmm) TULLE_SPMM_ROW_##types(avx2, name, spmm)
constexpr spmm_row spmm_avx2[] = {
#include "tulle/format/formats.def"
};
#undef TULLE_FORMAT
#define TULLE_FORMAT(name, types, spmv, spmm) TULLE_SPMM_ROW_##types(avx512, name, spmm)
constexpr spmm_row spmm_avx512[] = {
#include "tulle/format/formats.def"
};
#undef TULLE_FORMAT
constexpr spmm_row const* spmm_tables[isa_count] = {spmm_baseline, spmm_avx2, spmm_avx512};
#else
constexpr spmm_row const* spmm_tables[isa_count] = {spmm_baseline, nullptr, nullptr};
#endif

} // namespace

spmm_kernel const* cpu_spmm(isa i, format f, type_tag t) {
  spmm_row const* const table = spmm_tables[static_cast<std::size_t>(i)];
  return table ? table[static_cast<std::size_t>(f)].cell[static_cast<std::size_t>(t)] : nullptr;
}

} // namespace tulle
