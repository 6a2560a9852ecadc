// SPDX-License-Identifier: Apache-2.0

/// Scans: the sums of everything up to each entry, or before it.
///
///     in          3  1  7  0  4  1  6  3
///     inclusive   3  4 11 11 15 16 22 25
///     exclusive   0  3  4 11 11 15 16 22   and 25 is returned
///
/// From   Liu, thesis 2015, sec. 4.4.2.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"

namespace tulle::primitive {

/// out[i] = init + in[0] + ... + in[i]; returns the last, or init. out may be in.
template <class T>
constexpr T inclusive_scan(T const* in, std::size_t n, T* out, T init = T()) {
  for (std::size_t i = 0; i < n; ++i)
    out[i] = init = static_cast<T>(init + in[i]);
  return init;
}

/// out[i] = init + in[0] + ... + in[i - 1]; returns the sum of all. out may be in.
template <class T>
constexpr T exclusive_scan(T const* in, std::size_t n, T* out, T init = T()) {
  for (std::size_t i = 0; i < n; ++i) {
    T const next = static_cast<T>(init + in[i]);
    out[i] = init;
    init = next;
  }
  return init;
}

// Entries summed as one, by one thread. The order of additions follows from it and from n alone.
inline constexpr std::size_t scan_block = 4096;

/// exclusive_scan by threads; out may be in. Integers as exclusive_scan gives them; floating point
/// is added in blocks of scan_block, so the bits are the same for every number of threads, if not
/// always those of exclusive_scan.
template <class T>
T parallel_exclusive_scan(T const* in, std::size_t n, T* out, cpu const& where = {}, T init = T()) {
  if (n <= scan_block)
    return exclusive_scan(in, n, out, init);
  std::size_t const blocks = (n + scan_block - 1) / scan_block;
  auto const end = [&](std::size_t b) { return b + 1 < blocks ? (b + 1) * scan_block : n; };
  array<T> before(blocks, where.memory); // each block
  int const parts = parts_for(n, where.threads);
  parallel(parts, [&](int part) {
    std::size_t const last = split(blocks, part + 1, parts);
    for (std::size_t b = split(blocks, part, parts); b < last; ++b) {
      T sum = T();
      for (std::size_t i = b * scan_block; i < end(b); ++i)
        sum = static_cast<T>(sum + in[i]);
      before[b] = sum;
    }
  });
  T const all = exclusive_scan(before.data(), blocks, before.data(), init);
  parallel(parts, [&](int part) {
    std::size_t const last = split(blocks, part + 1, parts);
    for (std::size_t b = split(blocks, part, parts); b < last; ++b)
      exclusive_scan(in + b * scan_block, end(b) - b * scan_block, out + b * scan_block, before[b]);
  });
  return all;
}

} // namespace tulle::primitive
