// SPDX-License-Identifier: Apache-2.0

/// d-heap: a tree in an array whose every key is no less than those of its d children.
///
///     d = 4      slot   0 1 2   3   4 5 6 7   8 9 10 11   12 13 14
///                       empty  root children  of the      ...
///                       head          of it   first child
///
/// The head of d - 1 slots makes every group of children begin at a multiple of d: with keys on a
/// 64-byte boundary, a group lies in as few cache lines as it can, and one vector load may take it.
/// Entries have names, by which their keys are changed.
///
/// From   Liu, thesis 2015, sec. 4.6, algorithms 19-20. The bridge of the ad-heap, which defers
///        stores from a GPU to a CPU beside it, has no use where one core does both.
#pragma once
#include "tulle/version.hpp"

#include <cstddef>
#include <cstdint>

namespace tulle::primitive {

/// The first greatest of keys[0..n), n > 0.
struct find_max_child {
  template <class K>
  constexpr std::size_t operator()(K const* keys, std::size_t n) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < n; ++i)
      if (keys[best] < keys[i])
        best = i;
    return best;
  }
};

/// A max-heap of keys K with names in [0, capacity) in memory of the caller's. Find(keys, n) is
/// find_max_child or a SIMD form of it; n is d except at the heap's end.
template <class K, int d, class Find = find_max_child>
class d_heap {
  static_assert(d >= 2 && d <= 64);
  static constexpr std::size_t head = d - 1;

public:
  using name = std::int32_t;
  struct entry {
    name who;
    K key;
  };

  /// Slots that keys and names must have.
  static constexpr std::size_t slots(std::size_t capacity) { return capacity + head; }

  /// keys, names: slots(capacity) each, keys best on 64 bytes; places: capacity. Empty at first.
  constexpr d_heap(K* keys, name* names, name* places, std::size_t capacity, Find find = {})
      : keys_(keys + head), names_(names + head), places_(places), find_(find) {
    for (std::size_t i = 0; i < capacity; ++i)
      places[i] = -1;
  }

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr bool contains(name who) const { return places_[who] >= 0; }
  constexpr K key(name who) const { return keys_[places_[who]]; }
  /// The greatest; the heap is not empty.
  constexpr entry peek() const { return {names_[0], keys_[0]}; }

  /// Adds who, which the heap does not contain: O(log n / log d).
  constexpr void insert(name who, K key) { rise(size_++, who, key); }

  /// Takes the greatest out: O(d log n / log d).
  constexpr entry delete_max() {
    entry const top = peek();
    places_[top.who] = -1;
    if (--size_ > 0)
      sink(0, names_[size_], keys_[size_]);
    return top;
  }

  /// Gives who, which the heap contains, another key.
  constexpr void update_key(name who, K key) {
    auto const i = static_cast<std::size_t>(places_[who]);
    if (keys_[i] < key)
      rise(i, who, key);
    else
      sink(i, who, key);
  }

private:
  constexpr void put(std::size_t i, name who, K key) {
    keys_[i] = key;
    names_[i] = who;
    places_[who] = static_cast<name>(i);
  }

  // Both move a hole from i to where the key belongs, and fill it once.
  constexpr void rise(std::size_t i, name who, K key) {
    while (i > 0) {
      std::size_t const parent = (i - 1) / d;
      if (!(keys_[parent] < key))
        break;
      put(i, names_[parent], keys_[parent]);
      i = parent;
    }
    put(i, who, key);
  }
  constexpr void sink(std::size_t i, name who, K key) {
    for (std::size_t first; (first = d * i + 1) < size_;) {
      std::size_t const n = size_ - first;
      std::size_t const child = first + find_(keys_ + first, n < d ? n : d);
      if (!(key < keys_[child]))
        break;
      put(i, names_[child], keys_[child]);
      i = child;
    }
    put(i, who, key);
  }

  K* keys_; // of the root
  name* names_;
  name* places_;
  std::size_t size_ = 0;
  [[no_unique_address]] Find find_;
};

} // namespace tulle::primitive
