// SPDX-License-Identifier: Apache-2.0

// Results in memory that the library gives, and what kernels may take meanwhile.
#pragma once
#include "tulle/core/limited.hpp"
#include "tulle/core/narrow.hpp"

#include "test/backend/queue.hpp"

#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

namespace tulle::test_device {

inline work_place place_of(result_memory const& to) {
  return {to.device, to.queue, 0};
}

/// Room for that many bytes; nullptr for none.
inline void* take(result_memory const& to, std::size_t bytes) {
  void* const p = bytes == 0 ? nullptr : to.take(to.owner, bytes);
  if (bytes != 0 && !p)
    throw failure{{outcome::no_memory, errc::out_of_memory, "no device memory for the result"}};
  return p;
}

/// The view of an owner in host memory as one in device memory. The arrays are copied when the
/// queue runs; the owner lives until then.
template <class Owner>
auto put(Owner&& made, result_memory const& to) {
  auto const kept = std::make_shared<std::remove_cvref_t<Owner> const>(std::forward<Owner>(made));
  auto view = kept->view();
  struct array_copy {
    void* to;
    void const* from;
    std::size_t bytes;
  };
  std::vector<array_copy> copies;
  view.arrays([&]<class T>(char const*, T const* const& member, std::size_t n) {
    void* const there = take(to, n * sizeof(T));
    copies.push_back({there, member, n * sizeof(T)});
    const_cast<T const*&>(member) = static_cast<T const*>(there);
  });
  view.serial = 0;
  launch(place_of(to), [kept, copies] {
    for (array_copy const& c : copies)
      if (c.bytes != 0)
        std::memcpy(c.to, c.from, c.bytes);
  });
  return view;
}

} // namespace tulle::test_device
