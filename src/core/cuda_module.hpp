// SPDX-License-Identifier: Apache-2.0

// The CUDA module as the library uses it.
#pragma once
#include "cuda/module.hpp"

namespace tulle {

/// Loaded once; errc::backend where it cannot be, or no device is there.
cuda_module const& loaded_cuda();

/// Another entry point of the module; errc::backend where it cannot be loaded or has none.
void* loaded_cuda_entry(char const* name);

/// errc::backend, or errc::out_of_memory, with the call's name, where a status is not fine; what it
/// says where something was refused.
void check(cuda_status const& status, char const* op);

} // namespace tulle
