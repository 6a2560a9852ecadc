// SPDX-License-Identifier: Apache-2.0

// What the primitives are tried on: irregular lengths, and keys from easy to adversarial.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace tulle::test {

/// 0 to 4100 in steps that grow and hit both sides of every power of two.
inline std::vector<std::size_t> lengths(std::size_t last = 4100) {
  std::vector<std::size_t> all;
  for (std::size_t n = 0; n <= 40; ++n)
    all.push_back(n);
  for (std::size_t n = 43; n <= last; n += n / 5 + 3)
    all.push_back(n);
  for (std::size_t p = 64; p <= last; p *= 2)
    for (std::size_t const n : {p - 1, p, p + 1})
      all.push_back(n);
  all.push_back(last);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  while (all.back() > last)
    all.pop_back();
  return all;
}

enum class shape { random, few, equal, sorted, reversed, organ_pipe, extreme };
inline constexpr shape all_shapes[] = {shape::random, shape::few,      shape::equal,
                                       shape::sorted, shape::reversed, shape::organ_pipe,
                                       shape::extreme};
/// Those whose sums do not overflow.
inline constexpr shape sum_shapes[] = {shape::random, shape::few,      shape::equal,
                                       shape::sorted, shape::reversed, shape::organ_pipe};

/// Keys of that shape. Their sums are exact in every type but float.
template <class K>
std::vector<K> keys(shape s, std::size_t n, unsigned seed = 1) {
  std::mt19937 random(seed + static_cast<unsigned>(n));
  std::vector<K> all(n);
  for (K& k : all) {
    auto const r = static_cast<std::int32_t>(random() % 20001) - 10000;
    switch (s) {
    case shape::few:
      k = static_cast<K>(random() % 7);
      break;
    case shape::equal:
      k = K(5);
      break;
    case shape::extreme:
      k = random() % 3 == 0   ? std::numeric_limits<K>::max()
          : random() % 2 == 0 ? std::numeric_limits<K>::lowest()
                              : static_cast<K>(r);
      break;
    default:
      k = std::is_unsigned_v<K> ? static_cast<K>(random()) : static_cast<K>(r);
    }
  }
  if (s == shape::sorted || s == shape::reversed || s == shape::organ_pipe)
    std::sort(all.begin(), all.end());
  if (s == shape::reversed)
    std::reverse(all.begin(), all.end());
  if (s == shape::organ_pipe) // up, then down
    std::reverse(all.begin() + static_cast<std::ptrdiff_t>(n / 2), all.end());
  return all;
}

/// n indices, strictly ascending, with gaps of up to `gap`.
template <class I>
std::vector<I> indices(std::size_t n, unsigned gap, unsigned seed) {
  std::mt19937 random(seed + static_cast<unsigned>(n));
  std::vector<I> all(n);
  I at = 0;
  for (I& i : all)
    i = at += static_cast<I>(1 + random() % gap);
  return all;
}

/// Heads of segments: one huge, all of length one, short, long, none marked at all, of eight each,
/// and one huge behind as many of length one. (No segment is empty: it would have no entry to
/// mark.)
inline std::vector<std::vector<std::uint8_t>> heads(std::size_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::vector<std::vector<std::uint8_t>> all(7, std::vector<std::uint8_t>(n));
  for (std::size_t i = 0; i < n; ++i) {
    all[0][i] = i == 0;
    all[1][i] = 1;
    all[2][i] = i == 0 || random() % 3 == 0;
    all[3][i] = random() % 50 == 0;
    all[5][i] = i % 8 == 0;
    all[6][i] = i <= n / 2;
  }
  return all;
}

} // namespace tulle::test
