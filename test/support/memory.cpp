// SPDX-License-Identifier: Apache-2.0
#include "support/memory.hpp"

#include <atomic>
#include <cstdlib>

namespace {

std::atomic<std::size_t> count{0};
thread_local std::size_t bytes_given = 0, until_failure = SIZE_MAX;

[[maybe_unused]] void* counted(std::size_t bytes, std::size_t alignment) {
  count.fetch_add(1, std::memory_order_relaxed);
  bytes_given += bytes;
  if (until_failure != SIZE_MAX) {
    until_failure -= until_failure > 0;
    if (until_failure == 0)
      throw std::bad_alloc();
  }
  void* p = nullptr;
  if (posix_memalign(&p, alignment, bytes ? bytes : 1) != 0)
    throw std::bad_alloc();
  return p;
}

} // namespace

std::size_t tulle::test::global_allocations() noexcept {
  return count;
}

tulle::test::failing_new::failing_new(std::size_t k) noexcept {
  until_failure = k;
}
void tulle::test::failing_new::stop() noexcept {
  until_failure = SIZE_MAX;
}

std::size_t tulle::test::global_bytes() noexcept {
  return bytes_given;
}
void tulle::test::restart_global_bytes() noexcept {
  bytes_given = 0;
}

void* tulle::test::tracking_memory::do_allocate(std::size_t bytes, std::size_t alignment) {
  std::lock_guard const lock(mutex_);
  void* p = nullptr;
  if (++allocations_ >= fail_at_ || posix_memalign(&p, alignment, bytes) != 0)
    throw std::bad_alloc();
  out_ += bytes;
  peak_ = std::max(peak_, out_);
  return p;
}
void tulle::test::tracking_memory::do_deallocate(void* p, std::size_t bytes, std::size_t) {
  std::lock_guard const lock(mutex_);
  out_ -= bytes;
  std::free(p);
}

// Clang's thread sanitizer puts its own into the executable; then nothing is counted.
#ifdef TULLE_SANITIZED_THREAD
bool tulle::test::counts_global_allocations() noexcept {
  return false;
}
#else
bool tulle::test::counts_global_allocations() noexcept {
  return true;
}
void* operator new(std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new[](std::size_t bytes) {
  return counted(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t a) {
  return counted(bytes, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t bytes, std::align_val_t a) {
  return counted(bytes, static_cast<std::size_t>(a));
}
// What std::stable_sort asks with; without it, it would come from elsewhere and be freed here.
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  try {
    return counted(bytes, alignof(std::max_align_t));
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete[](void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  std::free(p);
}
#endif
