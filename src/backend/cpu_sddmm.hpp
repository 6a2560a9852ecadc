// SPDX-License-Identifier: Apache-2.0

// table[instruction set][type] for sddmm on the cpu.
#pragma once
#include "tulle/core/machine.hpp"
#include "tulle/core/types.hpp"

#include "kernel/sddmm.hpp"

namespace tulle::formats {

sddmm_kernel const& cpu_sddmm(isa i, type_tag t);

} // namespace tulle::formats
