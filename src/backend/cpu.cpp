// SPDX-License-Identifier: Apache-2.0

// The cpu's table: kernels of the instruction set in use.
#include "backend/cpu.hpp"

#include "backend/cells.hpp"
#include "backend/host.hpp"
#include "backend/tables.hpp"

namespace tulle {

#define TULLE_CELLS_OF CPU
#define TULLE_CELLS_CONVERT 0
namespace kernels::baseline {
#include "backend/cells.inc"
}
#ifdef __x86_64__
namespace kernels::avx2 {
#include "backend/cells.inc"
}
namespace kernels::avx512 {
#include "backend/cells.inc"
}
#endif
#undef TULLE_CELLS_CONVERT
#undef TULLE_CELLS_OF

namespace {

kernel_row const& row_of(format f) {
#ifdef __x86_64__
  static kernel_row const* const sets[isa_count] = {kernels::baseline::cells, kernels::avx2::cells,
                                                    kernels::avx512::cells};
#else
  static kernel_row const* const sets[isa_count] = {kernels::baseline::cells};
#endif
  return sets[static_cast<std::size_t>(active_isa())][static_cast<std::size_t>(f)];
}

outcome describe(int, device_properties& to) {
  return host::describe(to, name(active_isa()));
}

} // namespace

spmv_kernel const* cpu_spmv(format f, type_tag t) {
  return row_of(f).spmv[static_cast<std::size_t>(t)];
}
spmm_kernel const* cpu_spmm(format f, type_tag t) {
  return row_of(f).spmm[static_cast<std::size_t>(t)];
}

constexpr backend_table cpu_table = host::table(
    backend::cpu, describe,
    [](int f, int type) { return cpu_spmv(static_cast<format>(f), static_cast<type_tag>(type)); },
    [](int f, int type) { return cpu_spmm(static_cast<format>(f), static_cast<type_tag>(type)); });

} // namespace tulle
