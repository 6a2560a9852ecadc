// SPDX-License-Identifier: Apache-2.0

/// What only CUDA's driver counts.
#pragma once
#include "tulle/core/where.hpp"

#include <cstddef>
#include <functional>
#include <optional>

namespace tulle::bench {

/// The most bytes that the memory pool of CUDA's first device has given while f() ran, beyond what
/// it had given before. Other backends count nothing: there f is not run.
std::optional<std::size_t> peak_of(device const& where, std::function<void()> const& f);

} // namespace tulle::bench
