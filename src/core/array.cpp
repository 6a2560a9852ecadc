// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/array.hpp"

#include "tulle/core/recycling.hpp"
#include "tulle/core/serial.hpp"

#include "core/at_fork.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace tulle {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;
// Below this a huge page wastes more than it saves: half of one is lost on average.
constexpr std::size_t huge_from = 2 * huge_page;

class aligned_memory final : public std::pmr::memory_resource {
  static bool is_huge(std::size_t bytes) { return bytes >= huge_from; }
  static std::align_val_t align_of(std::size_t bytes, std::size_t asked) {
    return std::align_val_t{is_huge(bytes) ? huge_page : asked};
  }

  void* do_allocate(std::size_t bytes, std::size_t asked) override {
    void* const p = ::operator new(bytes, align_of(bytes, asked));
#ifdef __linux__
    if (is_huge(bytes)) // advice: where it is refused, small pages serve as well
      madvise(p, bytes, MADV_HUGEPAGE);
#endif
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t asked) override {
    ::operator delete(p, align_of(bytes, asked)); // unsized: clang 14 declares no sized form
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override {
    return this == &other;
  }
};

} // namespace

std::pmr::memory_resource* default_memory() noexcept {
  // Never destroyed: owners of static lifetime may outlive any order of destruction.
  static auto* const fresh = new aligned_memory;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return fresh; // blocks that are used again would hide who used them too long
#else
  // Milliseconds of a transpose, two threads, fresh and recycled, means of 25: lattice 11.2, 5.4;
  // fem 51.7, 10.3; circuit 29.6, 25.6; rmat 18 26.1, 21.5. One kind of size: pages that nobody
  // has written to are none yet, and an array that grows finds those that it had. Millions of
  // entries a second into a dynamic_csr in batches of 10^5, eight kinds and one: rmat 18 30, 35.
  static auto* const kept = [] {
    auto* const made = new recycling_memory(std::size_t{256} << 20, fresh, 1);
    detail::at_fork({made, [](void* p) { static_cast<recycling_memory*>(p)->lock(); },
                     [](void* p) { static_cast<recycling_memory*>(p)->unlock(); },
                     [](void* p) { static_cast<recycling_memory*>(p)->unlock(); }});
    return made;
  }();
  return kept;
#endif
}

namespace detail {

std::uint64_t new_serial() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void* new_array(std::size_t n, std::size_t size, std::pmr::memory_resource*& memory) {
  if (!memory)
    memory = default_memory();
  if (n == 0)
    return nullptr;
  std::size_t const bytes = checked_mul(n, size, "array");
  if (bytes > static_cast<std::size_t>(PTRDIFF_MAX)) // operator new would round it up to a few
    fail(errc::out_of_memory, "could not allocate %zu bytes", bytes);
  try {
    return memory->allocate(bytes, alignment);
  } catch (std::bad_alloc const&) {
    fail(errc::out_of_memory, "could not allocate %zu bytes", bytes);
  }
}

void* copy_array(void const* from, std::size_t n, std::size_t size,
                 std::pmr::memory_resource*& memory) {
  void* const to = new_array(n, size, memory);
  if (n != 0)
    std::memcpy(to, from, n * size);
  return to;
}

void free_array(void* p, std::size_t bytes, std::pmr::memory_resource* memory) noexcept {
  memory->deallocate(p, bytes, alignment);
}

} // namespace detail
} // namespace tulle
