// SPDX-License-Identifier: Apache-2.0

/// What contestants on a GPU share.
#pragma once
#include "tulle/core/device_matrix.hpp"

#include "bench/contestant.hpp"

#include <functional>
#include <memory_resource>

namespace tulle::bench {

/// Times by events on the default stream, as its peers there are.
std::shared_ptr<stopwatch> event_watch();

/// A copy that reads and writes `bytes` together: what no kernel that moves as many passes.
contestant copy_bound(std::size_t bytes, std::shared_ptr<stopwatch> watch);

/// Device memory that keeps what comes back for the next who wants as much: fresh memory is not
/// what is measured.
std::unique_ptr<std::pmr::memory_resource> kept_memory();

/// The most that the device's pool has given while f() ran, beyond what it had given before.
std::size_t peak_of(std::function<void()> const& f);

/// A matrix that is made again and again, in such memory.
struct kept_matrix {
  std::unique_ptr<std::pmr::memory_resource> memory = kept_memory();
  device_matrix matrix;
};

} // namespace tulle::bench
