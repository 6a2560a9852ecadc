// SPDX-License-Identifier: Apache-2.0

// table[instruction set][type] of operations on csr alone, on the cpu.
#pragma once
#include "tulle/core/machine.hpp"
#include "tulle/core/types.hpp"

namespace tulle {

struct spgemm_kernel; // src/kernel/spgemm.hpp, and so on
struct sddmm_kernel;
struct triangle_kernel;

namespace formats {

spgemm_kernel const& cpu_spgemm(isa i, type_tag t);
sddmm_kernel const& cpu_sddmm(isa i, type_tag t);
triangle_kernel const& cpu_trsv(isa i, type_tag t);

} // namespace formats
} // namespace tulle
