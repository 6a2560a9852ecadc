// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/limited.hpp"

#include <algorithm>
#include <atomic>
#include <memory_resource>

namespace tulle::detail {

void fail_out_of_memory(char const* op) {
  fail(errc::out_of_memory, "%s: operator new failed", op);
}

/// Belongs to its limited and to all blocks that are out: results are among them, and how large
/// those are is known only when they are there.
class limited_memory final : public std::pmr::memory_resource {
public:
  limited_memory(char const* op, cpu const& w, std::size_t of_result)
      : op_(op), limit_(w.workspace_limit), of_result_(of_result),
        upstream_(w.memory ? w.memory : default_memory()) {}
  std::size_t live() const noexcept { return live_.load(std::memory_order_relaxed); }
  void close() noexcept {
    open_.store(false, std::memory_order_relaxed);
    release();
  }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    std::size_t const now = live_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > of_result_ && now - of_result_ > limit_ && open_.load(std::memory_order_relaxed)) {
      live_.fetch_sub(bytes, std::memory_order_relaxed);
      fail(errc::out_of_memory, "%s: %zu bytes of workspace wanted at least, the limit is %zu", op_,
           now - of_result_, limit_);
    }
    try {
      void* const p = upstream_->allocate(bytes, alignment);
      owners_.fetch_add(1, std::memory_order_relaxed);
      return p;
    } catch (...) {
      live_.fetch_sub(bytes, std::memory_order_relaxed);
      throw;
    }
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    upstream_->deallocate(p, bytes, alignment);
    live_.fetch_sub(bytes, std::memory_order_relaxed);
    release();
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }
  void release() noexcept {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }

  char const* op_;
  std::size_t limit_, of_result_;
  std::pmr::memory_resource* upstream_;
  std::atomic<std::size_t> live_{0}, owners_{1};
  std::atomic<bool> open_{true};
};

limited::limited(char const* op, cpu const& w, std::size_t of_result)
    : limit_(w.workspace_limit), counted_(w) {
  if (limit_ == SIZE_MAX)
    return;
  memory_ = typed_memory(op, [&] { return new limited_memory(op, w, of_result); });
  counted_.memory = memory_;
  counted_.workspace_limit = SIZE_MAX;
}

limited::~limited() {
  if (memory_)
    memory_->close();
}

std::size_t limited::taken() const noexcept {
  return memory_ ? memory_->live() : 0;
}

std::size_t limited::left() const noexcept {
  return memory_ ? limit_ - std::min(limit_, memory_->live()) : SIZE_MAX;
}

} // namespace tulle::detail
