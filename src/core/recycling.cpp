// SPDX-License-Identifier: Apache-2.0
#include "tulle/core/recycling.hpp"

#include <algorithm>
#include <bit>

namespace tulle {
namespace {

constexpr std::size_t alignment_of_all = 64;
// Where malloc begins to map pages for each, and to give them back. With 2^20 instead batches of
// 10^5 entries into a dynamic_csr had 40 times as many page faults and took 1.5 times as long.
constexpr std::size_t least = std::size_t{1} << 17;
constexpr std::size_t most_blocks = 256; // that wait

} // namespace

recycling_memory::recycling_memory(std::size_t most, std::pmr::memory_resource* from,
                                   std::size_t kinds)
    : from_(from ? from : default_memory()), most_(most), kinds_(kinds) {
  waiting_.reserve(most_blocks);
}

std::size_t recycling_memory::size_of_block(std::size_t bytes) const {
  std::size_t const step = std::bit_floor(bytes) / kinds_;
  return (bytes + step - 1) / step * step;
}

std::size_t recycling_memory::waiting() const {
  std::lock_guard const lock(mutex_);
  return bytes_;
}

void recycling_memory::release() noexcept {
  std::lock_guard const lock(mutex_);
  for (block const& b : waiting_)
    from_->deallocate(b.at, b.bytes, alignment_of_all);
  waiting_.clear();
  bytes_ = 0;
}

bool recycling_memory::passes(std::size_t bytes, std::size_t alignment) const {
  return bytes < least || bytes > SIZE_MAX / 2 || size_of_block(bytes) > most_ ||
         alignment > alignment_of_all;
}

void* recycling_memory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (passes(bytes, alignment))
    return from_->allocate(bytes, alignment);
  std::size_t const size = size_of_block(bytes);
  {
    std::lock_guard const lock(mutex_);
    // The one that came last: some of it may still be in a cache.
    auto const found = std::find_if(waiting_.rbegin(), waiting_.rend(),
                                    [&](block const& b) { return b.bytes == size; });
    if (found != waiting_.rend()) {
      void* const p = found->at;
      waiting_.erase(std::next(found).base());
      bytes_ -= size;
      return p;
    }
  }
  return from_->allocate(size, alignment_of_all);
}

void recycling_memory::do_deallocate(void* p, std::size_t bytes, std::size_t alignment) {
  if (passes(bytes, alignment))
    return from_->deallocate(p, bytes, alignment);
  std::size_t const size = size_of_block(bytes);
  std::lock_guard const lock(mutex_);
  while (!waiting_.empty() && (waiting_.size() == most_blocks || bytes_ + size > most_)) {
    block const oldest = waiting_.front();
    waiting_.erase(waiting_.begin());
    bytes_ -= oldest.bytes;
    from_->deallocate(oldest.at, oldest.bytes, alignment_of_all);
  }
  waiting_.push_back({p, size});
  bytes_ += size;
}

} // namespace tulle
