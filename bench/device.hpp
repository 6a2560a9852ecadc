// SPDX-License-Identifier: Apache-2.0

/// What contestants on a device share.
#pragma once
#include "tulle/core/device_matrix.hpp"

#include "bench/contestant.hpp"
#include "bench/options.hpp"

#include <memory_resource>
#include <optional>

namespace tulle::bench {

/// The device of the backend that the options name. Where there is none, a remark says why.
std::optional<device> device_for(options const& o, std::vector<std::string>& remarks);

/// Times by events on the default queue, as its peers there are.
std::shared_ptr<stopwatch> event_watch(device const& where);

/// A copy that reads and writes `bytes` together: what no kernel that moves as many passes.
contestant copy_bound(device const& where, std::size_t bytes, std::shared_ptr<stopwatch> watch);

/// Device memory that keeps what comes back for the next who wants as much: fresh memory is not
/// what is measured.
std::unique_ptr<std::pmr::memory_resource> kept_memory(device const& where);

/// The same device, where memory comes from that resource.
inline device with_memory(device where, std::pmr::memory_resource& memory) {
  where.memory = &memory;
  return where;
}

/// A matrix that is made again and again, in such memory.
struct kept_matrix {
  std::unique_ptr<std::pmr::memory_resource> memory;
  device_matrix matrix;

  explicit kept_matrix(device const& where) : memory(kept_memory(where)) {}
};

} // namespace tulle::bench
