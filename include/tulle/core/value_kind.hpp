// SPDX-License-Identifier: Apache-2.0

/// The value types as a tag, for what does not depend on indices.
#pragma once
#include "tulle/version.hpp"

#include <cstdint>

namespace tulle::detail {

/// float, double, std::complex<float>, std::complex<double>.
enum class value_kind : std::uint8_t { f32, f64, c32, c64 };

} // namespace tulle::detail
