// SPDX-License-Identifier: Apache-2.0

/// Memory that fails when told to, and counts.
#pragma once
#include <algorithm>
#include <cstddef>
#include <memory_resource>
#include <mutex>
#include <new>

namespace tulle::test {

/// Throws at its k-th allocation, and at all after it; knows what has not come back. Not for
/// several threads.
class failing_memory final : public std::pmr::memory_resource {
public:
  explicit failing_memory(std::size_t fail_at = SIZE_MAX) : fail_at_(fail_at) {}

  std::size_t allocations() const { return allocations_; }
  std::size_t outstanding() const { return outstanding_; } ///< bytes
  void fail_at(std::size_t k) {
    fail_at_ = k;
    allocations_ = 0;
  }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (++allocations_ >= fail_at_)
      throw std::bad_alloc();
    void* const p = ::operator new (bytes, std::align_val_t{alignment});
    outstanding_ += bytes;
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    outstanding_ -= bytes;
    ::operator delete (p, std::align_val_t{alignment}); // clang has no sized form by default
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }

  std::size_t fail_at_;
  std::size_t allocations_ = 0;
  std::size_t outstanding_ = 0;
};

/// Knows the most bytes that were out at once; for several threads.
class peak_memory final : public std::pmr::memory_resource {
public:
  std::size_t peak() const { return peak_; }
  std::size_t outstanding() const { return out_; }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    std::lock_guard const lock(mutex_);
    out_ += bytes;
    peak_ = std::max(peak_, out_);
    return ::operator new (bytes, std::align_val_t{alignment});
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    std::lock_guard const lock(mutex_);
    out_ -= bytes;
    ::operator delete (p, std::align_val_t{alignment});
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }
  std::mutex mutex_;
  std::size_t out_ = 0, peak_ = 0;
};

/// Knows the most bytes that were out at once since restart(), and may fail; not by operator new,
/// so that what comes from there is counted apart. For several threads.
class tracking_memory final : public std::pmr::memory_resource {
public:
  std::size_t peak() const { return peak_; }
  std::size_t outstanding() const { return out_; }
  std::size_t allocations() const { return allocations_; }
  void restart() { peak_ = out_; }
  /// Throws at its k-th allocation from now on and at all after it.
  void fail_at(std::size_t k) {
    fail_at_ = k;
    allocations_ = 0;
  }

private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }
  std::mutex mutex_;
  std::size_t out_ = 0, peak_ = 0, allocations_ = 0, fail_at_ = SIZE_MAX;
};

/// While it lives, the k-th operator new of this thread and all after it throw.
class failing_new {
public:
  explicit failing_new(std::size_t k) noexcept;
  failing_new(failing_new const&) = delete;
  ~failing_new() { stop(); }
  static void stop() noexcept; ///< before it dies
};

/// Bytes that operator new has given to this thread since restart_global_bytes(), freed or not.
std::size_t global_bytes() noexcept;
void restart_global_bytes() noexcept;

/// How often operator new has run in this process. Naming it links the counting operator new in.
std::size_t global_allocations() noexcept;
/// Whether this build can count them.
bool counts_global_allocations() noexcept;

} // namespace tulle::test
