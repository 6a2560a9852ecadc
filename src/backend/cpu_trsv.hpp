// SPDX-License-Identifier: Apache-2.0

// table[instruction set][type] for trsv and trsm on the cpu.
#pragma once
#include "tulle/core/machine.hpp"
#include "tulle/core/types.hpp"

#include "kernel/trsv.hpp"

namespace tulle::formats {

triangle_kernel const& cpu_trsv(isa i, type_tag t);

} // namespace tulle::formats
