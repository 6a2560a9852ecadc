// SPDX-License-Identifier: Apache-2.0

// The words of formats.def.
#pragma once

namespace tulle::dispatch {

inline constexpr unsigned NONE = 0, CPU = 1, CUDA = 2, OPENCL = 4;

} // namespace tulle::dispatch
