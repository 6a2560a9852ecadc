// SPDX-License-Identifier: Apache-2.0

// Where the library's threads may run.
#pragma once
#ifdef __linux__
#include <sched.h>

namespace tulle::detail {

/// The processors that this process may run on, found at the first call. Where OMP_PROC_BIND binds
/// the calling thread to some of them, those that it had when the library was loaded.
cpu_set_t const& allowed_processors();

} // namespace tulle::detail
#endif
