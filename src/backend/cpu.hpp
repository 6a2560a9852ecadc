// SPDX-License-Identifier: Apache-2.0

// table[instruction set][format][type] of the cpu's kernels.
#pragma once
#include "tulle/core/machine.hpp"
#include "tulle/core/registry.hpp"

#include "kernel/spmm.hpp"
#include "kernel/spmv.hpp"

namespace tulle {

/// Of the instruction set in use; nullptr where none is built.
spmv_kernel const* cpu_spmv(format f, type_tag t);
spmm_kernel const* cpu_spmm(format f, type_tag t);

} // namespace tulle
