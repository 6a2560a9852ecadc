// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda_pool.hpp"

#include "tulle/core/device.hpp"
#include "tulle/core/error.hpp"

#include <cstdint>
#include <dlfcn.h>

namespace tulle::bench {
namespace {

/// By the driver's C interface: nothing of CUDA is linked here.
class cuda_pool {
public:
  enum attribute : int { threshold = 4, used = 7, most_used = 8 }; // as in cuda.h
  cuda_pool() {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver)
      fail(errc::backend, "bench: no driver: %s", dlerror());
    get_ = reinterpret_cast<access>(dlsym(driver, "cuMemPoolGetAttribute"));
    set_ = reinterpret_cast<access>(dlsym(driver, "cuMemPoolSetAttribute"));
    auto* const find = reinterpret_cast<int (*)(void**, int)>(dlsym(driver, "cuDeviceGetMemPool"));
    if (!get_ || !set_ || !find || find(&pool_, 0) != 0)
      fail(errc::backend, "bench: the driver has no pool of memory");
  }
  std::uint64_t get(attribute which) const {
    std::uint64_t value = 0;
    get_(pool_, which, &value);
    return value;
  }
  void set(attribute which, std::uint64_t value) const { set_(pool_, which, &value); }

private:
  using access = int (*)(void* pool, int which, void* value);
  access get_ = nullptr, set_ = nullptr;
  void* pool_ = nullptr;
};

} // namespace

std::optional<std::size_t> peak_of(device const& where, std::function<void()> const& f) {
  if (where.backend != backend::cuda)
    return std::nullopt;
  static cuda_pool const pool;
  std::uint64_t const threshold = pool.get(cuda_pool::threshold);
  pool.set(cuda_pool::threshold, UINT64_MAX); // else large blocks are not of it
  synchronize(where);
  std::uint64_t const before = pool.get(cuda_pool::used);
  pool.set(cuda_pool::most_used, 0);
  f();
  synchronize(where);
  std::uint64_t const peak = pool.get(cuda_pool::most_used);
  pool.set(cuda_pool::threshold, threshold);
  synchronize(where); // which gives back what it kept
  return static_cast<std::size_t>(peak - before);
}

} // namespace tulle::bench
