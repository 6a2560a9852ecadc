// SPDX-License-Identifier: Apache-2.0

/// What tests may ask of the device for tests, and tell it. They find it by dlsym().
#pragma once
#include <cstddef>

namespace tulle::test_device {

struct control {
  std::size_t (*bytes)();       ///< allocated and not given back
  std::size_t (*blocks)();      ///< the same, how many
  std::size_t (*allocations)(); ///< since the module was loaded
  std::size_t (*launches)();    ///< kernels and copies that were put on a queue
  std::size_t (*waits)();       ///< calls that ran all that was on a queue

  /// Memory of no queue; it is given back at once, whoever still works on it.
  void* (*allocate)(std::size_t bytes); ///< nullptr where there is none
  void (*deallocate)(void* p);

  void* (*make_queue)();
  void (*drop_queue)(void* queue);           ///< runs what is on it
  std::size_t (*pending)(void const* queue); ///< what is on it and has not run

  /// The n-th one from now on fails, once; 0: none does.
  void (*fail_allocation)(std::size_t n);
  void (*fail_launch)(std::size_t n);    ///< the call that puts it on a queue says so
  void (*fail_execution)(std::size_t n); ///< the next wait for the queue says so
};

using control_entry = control const* (*)();
constexpr char const* control_entry_name = "tulle_test_device";

} // namespace tulle::test_device
