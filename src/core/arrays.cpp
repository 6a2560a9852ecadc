// SPDX-License-Identifier: Apache-2.0
#include "core/arrays.hpp"

#include "tulle/core/parallel.hpp"

#include <atomic>

namespace tulle::formats {
namespace {

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
  int const parts = parts_for(n, threads);
  parallel(parts, [&](int part) {
    for (std::size_t b = split(blocks, part, parts); b < split(blocks, part + 1, parts); ++b) {
      std::size_t const end = n < (b + 1) * block ? n : (b + 1) * block;
      std::uint64_t lane[4] = {1, 2, 3, 4}; // independent, so that multiplications overlap
      std::size_t k = b * block;
      for (; k + 4 <= end; k += 4)
        for (std::size_t j = 0; j < 4; ++j)
          lane[j] = mixed(lane[j], p[k + j]);
      for (; k < end; ++k)
        lane[0] = mixed(lane[0], p[k]);
      std::uint64_t const h = mixed(mixed(mixed(lane[0], lane[1]), lane[2]), lane[3]);
      std::atomic_ref(sum).fetch_add(mixed(h, b), std::memory_order_relaxed);
    }
  });
  return sum;
}

std::uint64_t hash_of(array_of const& a, int threads) {
  switch (a.size) {
  case 1:
    return hash_of(static_cast<std::uint8_t const*>(a.data()), a.n, threads);
  case 2:
    return hash_of(static_cast<std::uint16_t const*>(a.data()), a.n, threads);
  case 4:
    return hash_of(static_cast<std::uint32_t const*>(a.data()), a.n, threads);
  default:
    return hash_of(static_cast<std::uint64_t const*>(a.data()), a.n, threads);
  }
}

/// The number of elements and nine of them, the first and the last among them. Multiplications do
/// not wait for one another.
template <class T>
[[gnu::always_inline]] inline std::uint64_t sample_of(T const* p, std::size_t n) {
  constexpr std::size_t samples = 8;
  std::uint64_t h = n;
  if (n == 0)
    return h;
  std::size_t const step = n / samples;
  for (std::size_t s = 0; s < samples; ++s)
    h += static_cast<std::uint64_t>(p[s * step]) * (0x9e3779b97f4a7c15u + 2 * s);
  return h + static_cast<std::uint64_t>(p[n - 1]) * 0xc2b2ae3d27d4eb4fu;
}

[[gnu::always_inline]] inline std::uint64_t sample_of(array_of const& a) {
  if (a.size == 4) [[likely]]
    return sample_of(static_cast<std::uint32_t const*>(a.data()), a.n);
  switch (a.size) {
  case 1:
    return sample_of(static_cast<std::uint8_t const*>(a.data()), a.n);
  case 2:
    return sample_of(static_cast<std::uint16_t const*>(a.data()), a.n);
  default:
    return sample_of(static_cast<std::uint64_t const*>(a.data()), a.n);
  }
}

} // namespace

bool overlaps(array_list const& all, void const* first, void const* last) {
  for (array_of const& a : all)
    if (a.n != 0 && first != last && a.data() < last &&
        first < static_cast<char const*>(a.data()) + a.bytes())
      return true;
  return false;
}

char const* missing(array_list const& all) {
  for (array_of const& a : all)
    if (a.n != 0 && a.data() == nullptr)
      return a.name;
  return nullptr;
}

std::uint64_t pattern_of(array_list const& all, int threads) {
  std::uint64_t h = 0;
  for (array_of const& a : all)
    if (a.is_pattern)
      h = mixed(h, hash_of(a, threads));
  return h;
}

std::uint64_t place_of(array_list const& all, std::uint64_t serial) {
  std::uint64_t h = serial;
  for (array_of const& a : all)
    if (a.is_index)
      h = mixed(mixed(h, reinterpret_cast<std::uintptr_t>(a.data())), a.n);
  return h;
}

std::uint64_t mark_of(array_list const& all, std::uint64_t serial) {
  std::uint64_t h = serial;
  for (array_of const& a : all)
    if (a.is_index)
      h = mixed(mixed(h, reinterpret_cast<std::uintptr_t>(a.data())), sample_of(a));
  return h;
}

void seen_arrays::keep(array_list const& all, std::uint64_t serial) {
  serial_ = serial;
  count_ = 0;
  for (array_of const& a : all)
    all_[count_++] = {a.data(), a.n, a.is_index ? sample_of(a) : 0};
}

bool seen_arrays::are(array_list const& all, std::uint64_t serial, void const* first,
                      void const* last) const {
  if (serial != serial_ || all.size() != count_)
    return false;
  seen const* known = all_;
  bool same = true;
  for (array_of const& a : all) {
    void const* const data = a.data();
    if (data != known->data || a.n != known->n)
      return false; // before its indices are read
    bool const apart = last <= data || static_cast<char const*>(data) + a.bytes() <= first;
    same &= apart;
    if (a.is_index)
      same &= sample_of(a) == known->sample;
    ++known;
  }
  return same;
}

} // namespace tulle::formats
