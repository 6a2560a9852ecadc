// SPDX-License-Identifier: Apache-2.0
#include "bench/device.hpp"

#include "tulle/core/device.hpp"

#include "bench/backend.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace tulle::bench {
namespace {

class timer_watch final : public stopwatch {
public:
  explicit timer_watch(device const& where) : where_(where) {}
  void start() override { timer_.start(); }
  double stop() override { return timer_.stop(); }
  // Not waited for: while it runs, the call to be timed is launched, and launching takes no part.
  void flush() override {
    if (scratch_.bytes() == 0)
      scratch_ = detail::device_block(scratch_bytes_, where_);
    detail::device_set(scratch_.data(), 0, scratch_.bytes(), where_);
  }

private:
  device const where_;
  device_timer timer_{where_};
  std::size_t const scratch_bytes_ =
      std::max(std::size_t{512} << 20, 4 * devices(where_.backend).at(0).l2);
  detail::device_block scratch_;
};

class kept final : public std::pmr::memory_resource {
public:
  explicit kept(device const& where) : where_(where) {}

private:
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
      block = detail::device_block(bytes, where_);
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
  device const where_;
  std::multimap<std::size_t, detail::device_block> free_;
  std::map<void*, detail::device_block> used_;
};

} // namespace

std::optional<device> device_for(options const& o, std::vector<std::string>& remarks) {
  backend const b = backend_named(o.backend);
  if (!devices(b).empty())
    return device(space_of(b));
  remarks.push_back("no " + o.backend + " device: " + backend_state(b));
  return std::nullopt;
}

std::shared_ptr<stopwatch> event_watch(device const& where) {
  return std::make_shared<timer_watch>(where);
}

contestant copy_bound(device const& where, std::size_t bytes, std::shared_ptr<stopwatch> watch) {
  contestant c;
  c.backend = name(where.backend);
  c.format = "copy";
  c.path = "device-to-device copy";
  c.watch = std::move(watch);
  c.is_bound = true;
  c.bytes = c.peak_bytes = bytes;
  auto const from = std::make_shared<detail::device_block>(bytes / 2, where);
  auto const to = std::make_shared<detail::device_block>(bytes / 2, where);
  detail::device_set(from->data(), 1, from->bytes(), where);
  c.run = [from, to, where] {
    detail::device_copy_there(to->data(), from->data(), to->bytes(), where);
  };
  return c;
}

std::unique_ptr<std::pmr::memory_resource> kept_memory(device const& where) {
  return std::make_unique<kept>(where);
}

} // namespace tulle::bench
