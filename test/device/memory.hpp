// SPDX-License-Identifier: Apache-2.0

/// Device memory for tests.
#pragma once
#include "device/under_test.hpp"

#include <algorithm>
#include <memory_resource>
#include <new>

namespace tulle::test {

/// Device memory that is counted and fails when told to.
struct counted final : std::pmr::memory_resource {
  std::size_t now = 0, most = 0; // bytes
  std::size_t left = SIZE_MAX;   // allocations until it fails
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* const p = left-- == 0 ? nullptr : allocate_raw(bytes);
    if (!p)
      throw std::bad_alloc();
    most = std::max(most, now += bytes);
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t) override {
    now -= bytes;
    deallocate_raw(p);
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }
};

} // namespace tulle::test
