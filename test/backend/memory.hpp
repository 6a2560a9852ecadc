// SPDX-License-Identifier: Apache-2.0

// Device memory: pages that nobody may touch but work of the device while it runs.
#pragma once
#include "backend/backend.hpp"

#include <cstddef>

namespace tulle::test_device {

/// New memory is full of 0xff: a NaN in every type of values. Throws std::bad_alloc.
void* allocate(std::size_t bytes);
/// It counts no longer; work that was put on a queue before may still use it.
void begin_release(void* p);
/// It is gone: whoever touches it gets a SIGSEGV.
void end_release(void* p) noexcept;

/// As long as one lives, all device memory may be touched. The lock of the device is held.
class opened {
public:
  opened();
  ~opened();
  opened(opened const&) = delete;
  opened& operator=(opened const&) = delete;
};

std::size_t bytes_in_use();
std::size_t blocks_in_use();
std::size_t allocations();
void fail_allocation(std::size_t n);

} // namespace tulle::test_device
