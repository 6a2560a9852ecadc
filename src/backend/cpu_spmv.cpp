// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu.hpp"

#include "dispatch/backends.hpp"
#include "kernel/declare.hpp"

namespace tulle {
namespace {

struct row {
  spmv_kernel const* cell[type_count];
};

// A format's row: its cells in the order of type_tag. Formats that are not basic end early; the
// rest is nullptr.
#define TULLE_CELL(tag, V, I, O, set, format) &simd::set::spmv_##format##_##tag,
#define TULLE_ROW_every(set, format) {{TULLE_TYPES(TULLE_CELL, set, format)}},
#define TULLE_ROW_basic(set, format)                                                               \
  {{TULLE_TYPES(TULLE_CELL, set, format) TULLE_BASIC_TYPES(TULLE_CELL, set, format)}},

#define TULLE_FORMAT(name, types, spmv, spmm) TULLE_ROW_##types(baseline, name)
constexpr row baseline_table[] = {
#include "tulle/format/formats.def"
};
#undef TULLE_FORMAT
#ifdef __x86_64__
#define TULLE_FORMAT(name, types, spmv, spmm) TULLE_ROW_##types(avx2, name)
constexpr row avx2_table[] = {
#include "tulle/format/formats.def"
};
#undef TULLE_FORMAT
#define TULLE_FORMAT(name, types, spmv, spmm) TULLE_ROW_##types(avx512, name)
constexpr row avx512_table[] = {
#include "tulle/format/formats.def"
};
#undef TULLE_FORMAT
constexpr row const* tables[isa_count] = {baseline_table, avx2_table, avx512_table};
#else
constexpr row const* tables[isa_count] = {baseline_table, nullptr, nullptr};
#endif

#define TULLE_FORMAT(name, types, spmv, spmm)                                                      \
  static_assert((spmv) & dispatch::CPU, "kernel/declare.hpp takes every format to have a cpu kernel");
#include "tulle/format/formats.def"
#undef TULLE_FORMAT

} // namespace

spmv_kernel const* cpu_spmv(isa i, format f, type_tag t) {
  row const* const table = tables[static_cast<std::size_t>(i)];
  return table ? table[static_cast<std::size_t>(f)].cell[static_cast<std::size_t>(t)] : nullptr;
}

} // namespace tulle
