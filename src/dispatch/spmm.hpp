// SPDX-License-Identifier: Apache-2.0

// table[backend][format][type] for spmm, and on the cpu the instruction set.
#pragma once
#include "tulle/core/machine.hpp"
#include "tulle/core/registry.hpp"

#include "kernel/spmm.hpp"

namespace tulle::dispatch {

/// The cpu kernel of that cell; nullptr where none is built.
spmm_kernel const* cpu_spmm(isa i, format f, type_tag t);

} // namespace tulle::dispatch
