// SPDX-License-Identifier: Apache-2.0

// The cpu's table: kernels of the instruction set in use.
#include "backend/cpu.hpp"

#include "backend/host.hpp"
#include "backend/tables.hpp"

namespace tulle {
namespace {

spmv_kernel const* spmv(int f, int type) {
  return cpu_spmv(active_isa(), static_cast<format>(f), static_cast<type_tag>(type));
}
spmm_kernel const* spmm(int f, int type) {
  return cpu_spmm(active_isa(), static_cast<format>(f), static_cast<type_tag>(type));
}
outcome describe(int, device_properties& to) {
  return host::describe(to, name(active_isa()));
}

} // namespace

constexpr backend_table cpu_table = host::table(backend::cpu, describe, spmv, spmm);

} // namespace tulle
