// SPDX-License-Identifier: Apache-2.0

// table[backend][format][type] for spmv, and on the cpu the instruction set.
#pragma once
#include "tulle/core/machine.hpp"
#include "tulle/core/registry.hpp"

#include "kernel/spmv.hpp"

namespace tulle::dispatch {

/// The cpu kernel of that cell; nullptr where none is built.
spmv_kernel const* cpu_spmv(isa i, format f, type_tag t);

} // namespace tulle::dispatch
