// SPDX-License-Identifier: Apache-2.0
#include "bench/device.hpp"

#include "tulle/core/device.hpp"

#include <algorithm>
#include <bit>
#include <dlfcn.h>
#include <map>

namespace tulle::bench {
namespace {

class timer_watch final : public stopwatch {
public:
  void start() override { timer_.start(); }
  double stop() override { return timer_.stop(); }
  // Not waited for: while it runs, the call to be timed is launched, and launching takes no part.
  void flush() override {
    if (scratch_.size() == 0)
      scratch_ = device_array<char>(scratch_bytes_);
    detail::device_set(scratch_.data(), 0, scratch_.bytes(), {});
  }

private:
  device_timer timer_;
  std::size_t const scratch_bytes_ = std::max(std::size_t{512} << 20, 4 * devices(backend::cuda).at(0).l2);
  device_array<char> scratch_;
};

class kept final : public std::pmr::memory_resource {
  // Up to an eighth more: who grows round by round would else leave a block behind in each.
  static std::size_t rounded(std::size_t bytes) {
    std::size_t const step = std::max<std::size_t>(256, std::bit_floor(bytes) / 8);
    return (bytes + step - 1) / step * step;
  }
  void* do_allocate(std::size_t wanted, std::size_t) override {
    std::size_t const bytes = rounded(wanted);
    auto const found = free_.find(bytes);
    detail::device_block block;
    if (found == free_.end()) {
      block = detail::device_block(bytes, {});
    } else {
      block = std::move(found->second);
      free_.erase(found);
    }
    void* const p = block.data();
    used_.emplace(p, std::move(block));
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t) override {
    auto const found = used_.find(p);
    free_.emplace(rounded(bytes), std::move(found->second));
    used_.erase(found);
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }
  std::multimap<std::size_t, detail::device_block> free_;
  std::map<void*, detail::device_block> used_;
};

/// The pool of the first device, by the driver's C interface: nothing of CUDA is linked here.
class driver_pool {
public:
  enum attribute : int { threshold = 4, used = 7, most_used = 8 }; // as in cuda.h
  driver_pool() {
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

std::shared_ptr<stopwatch> event_watch() {
  return std::make_shared<timer_watch>();
}

contestant copy_bound(std::size_t bytes, std::shared_ptr<stopwatch> watch) {
  contestant c;
  c.backend = "cuda";
  c.format = "copy";
  c.path = "device-to-device copy";
  c.watch = std::move(watch);
  c.is_bound = true;
  c.bytes = c.peak_bytes = bytes;
  auto const from = std::make_shared<device_array<char>>(bytes / 2);
  auto const to = std::make_shared<device_array<char>>(bytes / 2);
  detail::device_set(from->data(), 1, from->bytes(), {});
  c.run = [from, to] { detail::device_copy_there(to->data(), from->data(), to->bytes(), {}); };
  return c;
}

std::size_t peak_of(std::function<void()> const& f) {
  static driver_pool const pool;
  std::uint64_t const threshold = pool.get(driver_pool::threshold);
  pool.set(driver_pool::threshold, UINT64_MAX); // else large blocks are not of it
  synchronize();
  std::uint64_t const before = pool.get(driver_pool::used);
  pool.set(driver_pool::most_used, 0);
  f();
  synchronize();
  std::uint64_t const peak = pool.get(driver_pool::most_used);
  pool.set(driver_pool::threshold, threshold);
  synchronize(); // which gives back what it kept
  return static_cast<std::size_t>(peak - before);
}

std::unique_ptr<std::pmr::memory_resource> kept_memory() {
  return std::make_unique<kept>();
}

} // namespace tulle::bench
