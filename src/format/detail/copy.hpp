// SPDX-License-Identifier: Apache-2.0

/// Copies that leave the caches to others, and comparisons.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tulle::detail {

/// Prefetches an array.
template <class T>
void ask_for(T const* p, std::size_t n) {
  for (std::size_t at = 0; at < n * sizeof(T); at += 64)
    __builtin_prefetch(reinterpret_cast<char const*>(p) + at);
}

// Arrays of so many bytes would leave the last cache before anybody reads them. ms to refill fem
// 60000, two threads of Zen 4, through the caches and past them: hyb 5.9, 4.7; panels 4.7, 4.1.
constexpr std::size_t past_caches_from = std::size_t{16} << 20;

/// Two words of eight bytes to `to`; where `past`, past the caches if the processor can: memory is
/// not read before it is written. Then `to` is a multiple of 16, stores of one line should follow
/// one another, and after_stores() the last of them. Of one word each they take longer than plain
/// ones.
using two_words = long long __attribute__((vector_size(16)));
inline void put(two_words v, void* to, [[maybe_unused]] bool past) {
#ifdef __x86_64__
  if (past) {
#ifdef __clang__
    return __builtin_nontemporal_store(v, static_cast<two_words*>(to));
#else
    return __builtin_ia32_movntdq(static_cast<two_words*>(to), v);
#endif
  }
#endif
  std::memcpy(to, &v, sizeof v);
}
inline void after_stores() {
#ifdef __x86_64__
  __builtin_ia32_sfence();
#endif
}

/// to[0, n) = from[0, n) past the caches, whole lines of them; after_stores() is the caller's. Of
/// 28.8 MB, one thread of Zen 4: 1.3 ms, where stores of one value each take 5.7 and stores through
/// the caches 2.5.
template <class V>
void copy_past_caches(V const* from, std::size_t n, V* to) {
  std::size_t k = 0;
  constexpr std::size_t line = 64 / sizeof(V);
  for (; k < n && reinterpret_cast<std::uintptr_t>(to + k) % 64 != 0; ++k)
    to[k] = from[k];
  for (; k + line <= n; k += line)
    for (std::size_t at = 0; at < line; at += 16 / sizeof(V)) {
      two_words two;
      std::memcpy(&two, from + k + at, sizeof two);
      put(two, to + k + at, true);
    }
  for (; k < n; ++k)
    to[k] = from[k];
}

/// Whether two arrays hold the same plain values.
template <class T>
bool same(T const* a, T const* b, std::size_t n) {
  return n == 0 || std::memcmp(a, b, n * sizeof(T)) == 0;
}

} // namespace tulle::detail
