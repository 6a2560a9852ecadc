// SPDX-License-Identifier: Apache-2.0

/// Where memory is. Part of every view's type, so that handing device memory to a host kernel does
/// not compile.
#pragma once
#include "tulle/version.hpp"

#include <cstdint>

namespace tulle {

enum class space : std::uint8_t { host, device };

} // namespace tulle
