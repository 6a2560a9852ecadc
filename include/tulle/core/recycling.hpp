// SPDX-License-Identifier: Apache-2.0

/// Memory that is reused: a freed block of 128 KiB or more is kept for the next request of about
/// its size. Fresh pages cost more than writing to them, so a loop that builds one matrix after
/// another should pay for them once.
///
///     tulle::recycling_memory kept;
///     for (...)
///       a = transpose(tulle::cpu{.memory = &kept}, b); // the first two take fresh memory
///
/// default_memory() is of this kind and keeps at most 256 MiB, in blocks of powers of two.
#pragma once
#include "tulle/core/array.hpp"

#include <memory_resource>
#include <mutex>
#include <vector>

namespace tulle {

class recycling_memory final : public std::pmr::memory_resource {
public:
  /// Keeps at most `most` bytes; the oldest block is released first. There are `kinds` block sizes
  /// (1, 2, 4 and so on) from one power of two to the next, so that requests of about one size
  /// share blocks; a few suffice if unwritten pages take no memory.
  explicit recycling_memory(std::size_t most = SIZE_MAX,
                            std::pmr::memory_resource* from = nullptr, // nullptr: default_memory()
                            std::size_t kinds = 8);
  recycling_memory(recycling_memory const&) = delete;
  recycling_memory& operator=(recycling_memory const&) = delete;
  /// Everything taken from it must have been given back.
  ~recycling_memory() override { release(); }

  /// Bytes that are kept for reuse.
  std::size_t waiting() const;
  /// Returns all kept blocks to the resource they came from.
  void release() noexcept;
  /// Held while the process forks, so that the child finds it whole.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

private:
  struct block {
    void* at;
    std::size_t bytes;
  };

  std::size_t size_of_block(std::size_t bytes) const;
  bool passes(std::size_t bytes, std::size_t alignment) const;
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }

  std::pmr::memory_resource* from_;
  std::size_t most_;
  std::size_t kinds_;
  mutable std::mutex mutex_;
  std::size_t bytes_ = 0;      // of the blocks that wait
  std::vector<block> waiting_; // the oldest first
};

} // namespace tulle
