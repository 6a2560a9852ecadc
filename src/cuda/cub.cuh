// SPDX-License-Identifier: Apache-2.0

// Scans and sorts of whole arrays by CUB. It is compiled in cub.cu alone, once per size of keys and
// values, not per type.
#pragma once
#include "cuda/workspace.cuh"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace tulle::kernels::cuda {

// These use memory of the caller. If room is null, bytes is set to how much they need.

/// to[k]: the sum of counts before k, for all k below n; `to` may be counts.
template <class I>
void sum_up(I const* counts, I* to, std::size_t n, void* room, std::size_t& bytes, void* stream);

/// to[k]: the greatest of to[0..k], for all k below n.
template <class I>
void greatest_so_far(I* to, std::size_t n, void* room, std::size_t& bytes, void* stream);

/// Sorts keys, unsigned integers, by their lowest bits, and moves words with them. There are less
/// than 2^31 32-bit keys with 32-bit words.
template <class Key>
void sort_words(Key const* key, Key* sorted, std::size_t n, int bits, void* room,
                std::size_t& bytes, void* stream);
template <class Key, class Word>
void sort_words(Key const* key, Key* sorted, Word const* val, Word* sorted_val, std::size_t n,
                int bits, void* room, std::size_t& bytes, void* stream);

/// Calls f(room, bytes) twice: for how much room it needs, then with that memory from the stream's
/// pool.
template <class F>
void with_room(void* stream, F&& f) {
  std::size_t bytes = 0;
  f(nullptr, bytes);
  scratch<char> const room(bytes, stream);
  f(room.get(), bytes);
}

/// Replaces counts[0..n) by the sums of those before each; counts[n] becomes the sum of all.
template <class T>
void to_pointers(T* counts, std::size_t n, void* stream) {
  using integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>; // same bits
  TULLE_CUDA(cudaMemsetAsync, counts + n, 0, sizeof(T), static_cast<cudaStream_t>(stream));
  auto* const to = reinterpret_cast<integer*>(counts);
  with_room(stream, [&](void* room, std::size_t& bytes) {
    sum_up<integer>(to, to, n + 1, room, bytes, stream);
  });
}

template <std::size_t bytes>
struct word_of;
template <>
struct word_of<4> {
  using type = unsigned;
};
template <>
struct word_of<8> {
  using type = unsigned long long;
};
template <>
struct word_of<16> {
  using type = ulonglong2;
};
/// An array as CUB moves it.
template <class T>
auto const* as_words(T const* p) {
  return reinterpret_cast<typename word_of<sizeof(T)>::type const*>(p);
}
template <class T>
auto* as_words(T* p) {
  return reinterpret_cast<typename word_of<sizeof(T)>::type*>(p);
}

/// Sorts pairs by the lowest bits of their keys, none of which is negative. Stable.
template <class Key, class V>
void sort_pairs(Key const* key, Key* sorted, V const* val, V* sorted_val, std::size_t n, int bits,
                void* room, std::size_t& bytes, void* stream) {
  sort_words(as_words(key), as_words(sorted), as_words(val), as_words(sorted_val), n, bits, room,
             bytes, stream);
}
template <class Key, class V>
void sort_pairs(Key const* key, Key* sorted, V const* val, V* sorted_val, std::size_t n, int bits,
                void* stream) {
  with_room(stream, [&](void* room, std::size_t& bytes) {
    sort_pairs(key, sorted, val, sorted_val, n, bits, room, bytes, stream);
  });
}

/// Sorts keys, none of which is negative or above `most`.
template <class I>
void sort_keys(I const* keys, I* sorted, std::size_t n, I most, void* stream) {
  int bits = 0;
  for (; most != 0; most /= 2)
    ++bits;
  with_room(stream, [&](void* room, std::size_t& bytes) {
    sort_words(as_words(keys), as_words(sorted), n, bits, room, bytes, stream);
  });
}

} // namespace tulle::kernels::cuda
