// SPDX-License-Identifier: Apache-2.0

// Which pattern a view has, in 64 bits: a plan made for one pattern must not run on another, which
// might touch memory that the plan did not count on.
#pragma once
#include "tulle/core/parallel.hpp"

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace tulle::dispatch {

constexpr std::uint64_t mixed(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 32);
}

/// The same number for the same values, for every number of threads.
template <class T>
std::uint64_t hash_of(T const* p, std::size_t n, int threads) {
  constexpr std::size_t block = 1 << 14;
  std::size_t const blocks = (n + block - 1) / block;
  std::uint64_t sum = n; // of the blocks' hashes: the order they come in does not matter
  int const parts = detail::parts_for(n, threads);
  detail::parallel(parts, [&](int part) {
    for (std::size_t b = detail::split(blocks, part, parts);
         b < detail::split(blocks, part + 1, parts); ++b) {
      std::size_t const end = n < (b + 1) * block ? n : (b + 1) * block;
      std::uint64_t lane[4] = {1, 2, 3, 4}; // independent, so that multiplications overlap
      std::size_t k = b * block;
      for (; k + 4 <= end; k += 4)
        for (std::size_t j = 0; j < 4; ++j)
          lane[j] = mixed(lane[j], static_cast<std::uint64_t>(p[k + j]));
      for (; k < end; ++k)
        lane[0] = mixed(lane[0], static_cast<std::uint64_t>(p[k]));
      std::uint64_t const h = mixed(mixed(mixed(lane[0], lane[1]), lane[2]), lane[3]);
      std::atomic_ref(sum).fetch_add(mixed(h, b), std::memory_order_relaxed);
    }
  });
  return sum;
}

/// Of what the index arrays hold.
template <class View>
std::uint64_t pattern_of(View const& a, int threads) {
  std::uint64_t h = 0;
  a.arrays([&]<class T>(char const*, T const* p, std::size_t n) {
    if constexpr (std::is_integral_v<T>)
      h = mixed(h, hash_of(p, n, threads));
  });
  return h;
}

/// Of where they lie: known again at no cost.
template <class View>
std::uint64_t place_of(View const& a) {
  std::uint64_t h = 0;
  a.arrays([&]<class T>(char const*, T const* p, std::size_t n) {
    if constexpr (std::is_integral_v<T>)
      h = mixed(mixed(h, reinterpret_cast<std::uintptr_t>(p)), n);
  });
  return h;
}

} // namespace tulle::dispatch
