// SPDX-License-Identifier: Apache-2.0

/// What follows from a view's list of arrays, `view.arrays(f)` calling f(name, pointer, size) for
/// each.
#pragma once
#include "tulle/core/fail.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tulle::detail {

/// What a view calls an array. Arrays of indices are the pattern, but for those that follow from
/// the values: a matrix with other values on the same pattern may have others there.
struct array_name {
  char const* text;
  bool follows_values;

  constexpr array_name(char const* text, bool follows_values = false)
      : text(text), follows_values(follows_values) {}
  constexpr operator char const*() const { return text; }
};

/// Bytes of all arrays.
template <class View>
std::size_t bytes_of(View const& a) {
  std::size_t n = 0;
  a.arrays([&](char const*, auto const* p, std::size_t size) { n += size * sizeof(*p); });
  return n;
}

/// Whether [first, last) shares a byte with any of the arrays.
template <class View>
bool overlaps(View const& a, void const* first, void const* last) {
  bool hit = false;
  a.arrays([&](char const*, auto const* p, std::size_t size) {
    hit = hit || (size != 0 && first != last && static_cast<void const*>(p) < last &&
                  first < static_cast<void const*>(p + size));
  });
  return hit;
}

/// The name of an array that should be there and is not, as in an owner that was moved from; else
/// nullptr.
template <class View>
char const* missing_array(View const& a) {
  char const* missing = nullptr;
  a.arrays([&](char const* name, auto const* p, std::size_t size) {
    if (size != 0 && p == nullptr && !missing)
      missing = name;
  });
  return missing;
}

/// errc::bad_structure where the arrays of an owner do not have the sizes that its view takes them
/// to have: it was moved from, or its members were changed by hand. O(1); what is in the arrays is
/// not read.
template <class Owner>
void check_arrays(char const* format, Owner const& m) {
  std::size_t sizes[16] = {}; // no format has more arrays
  Owner::members(m, [&](auto const&... a) {
    static_assert(sizeof...(a) <= 16);
    std::size_t n = 0;
    ((sizes[n++] = a.size()), ...);
  });
  std::size_t n = 0;
  m.view().arrays([&](char const* name, auto const*, std::size_t expected) {
    std::size_t const size = sizes[n++];
    if (size != expected)
      fail(errc::bad_structure, "%s: %s has %zu elements, expected %zu; was it moved from?", format,
           name, size, expected);
  });
}

/// The view of an owner, all of whose invariants are checked: its members are public, and what
/// follows takes its indices for places in memory.
template <class Owner>
auto checked(Owner const& m, cpu const& where) {
  policy_threads const here(where.threads);
  m.validate();
  return m.view();
}

/// n / size, rounded up; 0 where a size that is broken leaves no number.
[[gnu::always_inline]] constexpr std::size_t pieces(std::size_t n, std::size_t size) {
  return size == 0 ? 0 : n / size + (n % size != 0);
}
/// Slots of a block, of whatever sides.
[[gnu::always_inline]] constexpr std::size_t block_size(int height, int width) {
  return static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
}

/// errc::unsupported for a layout of that many bytes where they are more than `limit` times those
/// of csr, before anything is allocated. What takes less than a MiB is never refused.
inline void check_room(char const* format, double bytes, std::size_t csr_bytes, double limit) {
  if (bytes > limit * static_cast<double>(csr_bytes) + (1 << 20))
    fail(errc::unsupported,
         "%s: this matrix would take %.0f bytes, %.3g times those of csr; the option limit is %g",
         format, bytes, bytes / static_cast<double>(csr_bytes), limit);
}

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
