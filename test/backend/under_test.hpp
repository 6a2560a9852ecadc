// SPDX-License-Identifier: Apache-2.0

/// The laws of devices, held by the device for tests: see device/under_test.hpp.
#pragma once
#include "tulle/core/error.hpp"
#include "tulle/core/registry.hpp"
#include "tulle/core/where.hpp"

#include "backend/control.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace tulle::test {

using policy = opencl;
inline constexpr space space_there = space::opencl;
inline constexpr backend backend_there = backend::opencl;

/// The module; loaded as OpenCL's where the environment names no other.
inline char const* const module_there = [] {
  setenv("TULLE_OPENCL_MODULE", TULLE_TEST_DEVICE_MODULE, 0);
  return std::getenv("TULLE_OPENCL_MODULE");
}();

inline test_device::control const& control() {
  static test_device::control const& found = [&]() -> test_device::control const& {
    void* const library = dlopen(module_there, RTLD_NOW | RTLD_LOCAL); // the one that tulle loads
    void* const entry = library ? dlsym(library, test_device::control_entry_name) : nullptr;
    if (!entry)
      fail(errc::backend, "%s is not the device for tests", module_there);
    return *reinterpret_cast<test_device::control_entry>(entry)();
  }();
  return found;
}

/// A queue of a test's own, as a policy.
struct own_queue {
  void* handle = control().make_queue();
  own_queue() = default;
  ~own_queue() { control().drop_queue(handle); }
  own_queue(own_queue const&) = delete;
  own_queue& operator=(own_queue const&) = delete;
  operator opencl() const { return {.queue = handle}; }
  operator device() const { return opencl(*this); }
};

inline std::size_t bytes_in_use() {
  return control().bytes();
}

/// Memory of no queue.
inline void* allocate_raw(std::size_t bytes) {
  return control().allocate(bytes);
}
inline void deallocate_raw(void* p) {
  control().deallocate(p);
}

inline bool is_on_device(format f) {
  return f == format::csr || f == format::csc || f == format::coo || f == format::ell ||
         f == format::sell;
}

inline constexpr char const* path_there = "opencl/host";
inline constexpr char const* spmm_of_csr = " csr loop";
inline constexpr char const* allocation_there = "no memory is left";
inline constexpr bool has_dynamic = false;
/// Fewer and smaller matrices are enough: the library is tested there, not its kernels.
inline constexpr bool is_slow = true;

} // namespace tulle::test
