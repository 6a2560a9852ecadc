// SPDX-License-Identifier: Apache-2.0

// table[instruction set][type] for spgemm on the cpu.
#pragma once
#include "tulle/core/machine.hpp"
#include "tulle/core/types.hpp"

#include "kernel/spgemm.hpp"

namespace tulle::formats {

spgemm_kernel const& cpu_spgemm(isa i, type_tag t);

} // namespace tulle::formats
