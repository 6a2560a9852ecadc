// SPDX-License-Identifier: Apache-2.0

// Memory of array<T> within the module, for headers that it shares with the library: small arrays
// on the host that live as long as a conversion.
#include "tulle/core/array.hpp"

#include <new>

namespace tulle::detail {
namespace {

constexpr std::align_val_t alignment{64};

} // namespace

void* new_array(std::size_t n, std::size_t size, std::pmr::memory_resource*&) {
  if (n == 0)
    return nullptr;
  std::size_t const bytes = checked_mul(n, size, "array");
  void* const p = ::operator new(bytes, alignment, std::nothrow);
  if (!p)
    fail(errc::out_of_memory, "could not allocate %zu bytes", bytes);
  return p;
}

void free_array(void* p, std::size_t, std::pmr::memory_resource*) noexcept {
  ::operator delete(p, alignment);
}

} // namespace tulle::detail
