// SPDX-License-Identifier: Apache-2.0
#include "test/backend/memory.hpp"

#include "test/backend/queue.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <new>
#include <sys/mman.h>

namespace tulle::test_device {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t alignment = 256;
constexpr std::size_t kept_unmapped = 256; // blocks whose addresses are not used again at once

struct block {
  char* pages;
  std::size_t size;  // of them; one more follows that is never open
  std::size_t bytes; // asked for
  bool is_released = false;
};

struct arena {
  std::map<void*, block> blocks;
  std::deque<block> gone;
  std::size_t bytes = 0, count = 0, allocations = 0;
  std::size_t until_failure = 0;
  int depth = 0; // of opened
};
arena& memory() { // never destroyed: kernels may run until the end
  static arena* const one = new arena;
  return *one;
}

void protect(block const& b, int how) {
  mprotect(b.pages, b.size, how);
}

} // namespace

void* allocate(std::size_t bytes) {
  std::lock_guard const lock(device_lock());
  arena& m = memory();
  ++m.allocations;
  if (m.until_failure != 0 && --m.until_failure == 0)
    throw std::bad_alloc();
  if (bytes > std::size_t{1} << 40)
    throw std::bad_alloc();
  std::size_t const room = (bytes + alignment - 1) / alignment * alignment;
  std::size_t const size = (room + page - 1) / page * page;
  void* const got = mmap(nullptr, size + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED)
    throw std::bad_alloc();
  block const b{static_cast<char*>(got), size, bytes};
  void* const p = b.pages + (size - room); // what is read beyond the end is beyond the last page
  m.blocks.emplace(p, b);
  m.bytes += bytes;
  ++m.count;
  protect(b, PROT_READ | PROT_WRITE);
  std::memset(b.pages, 0xff, size);
  if (m.depth == 0)
    protect(b, PROT_NONE);
  return p;
}

void begin_release(void* p) {
  std::lock_guard const lock(device_lock());
  arena& m = memory();
  auto const at = m.blocks.find(p);
  if (at == m.blocks.end() || at->second.is_released)
    throw failure{{outcome::failed, errc::backend, "deallocate: no block begins there"}};
  at->second.is_released = true;
  m.bytes -= at->second.bytes;
  --m.count;
}

void end_release(void* p) noexcept {
  arena& m = memory();
  auto const at = m.blocks.find(p);
  block const b = at->second;
  m.blocks.erase(at);
  madvise(b.pages, b.size, MADV_DONTNEED);
  protect(b, PROT_NONE);
  m.gone.push_back(b);
  if (m.gone.size() > kept_unmapped) {
    munmap(m.gone.front().pages, m.gone.front().size + page);
    m.gone.pop_front();
  }
}

opened::opened() {
  device_lock().lock();
  arena& m = memory();
  if (m.depth++ == 0)
    for (auto const& [p, b] : m.blocks)
      protect(b, PROT_READ | PROT_WRITE);
}
opened::~opened() {
  arena& m = memory();
  if (--m.depth == 0)
    for (auto const& [p, b] : m.blocks)
      protect(b, PROT_NONE);
  device_lock().unlock();
}

std::size_t bytes_in_use() {
  std::lock_guard const lock(device_lock());
  return memory().bytes;
}
std::size_t blocks_in_use() {
  std::lock_guard const lock(device_lock());
  return memory().count;
}
std::size_t allocations() {
  std::lock_guard const lock(device_lock());
  return memory().allocations;
}
void fail_allocation(std::size_t n) {
  std::lock_guard const lock(device_lock());
  memory().until_failure = n;
}

} // namespace tulle::test_device
