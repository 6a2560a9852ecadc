// SPDX-License-Identifier: Apache-2.0

/// Stretches of dia that have the same values, kept once.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace tulle::detail {

/// The different ones among stretches of `block` values, in the order in which they came: a hash
/// table over them. They are compared by their bits. Memory is taken and given back by one thread
/// at a time, as it may know no other.
template <class V>
class stretch_set {
public:
  /// `kept` is where they are put, one behind the other.
  stretch_set(V* kept, std::size_t block, cpu const& where, std::mutex& one_at_a_time)
      : kept_(kept), block_(block), memory_(where.memory), one_at_a_time_(one_at_a_time) {
    new_table(64);
  }
  stretch_set(stretch_set const&) = delete;
  stretch_set& operator=(stretch_set const&) = delete;
  ~stretch_set() {
    std::lock_guard const lock(one_at_a_time_);
    table_ = {};
  }

  std::size_t size() const { return size_; }

  /// The number of that stretch, which is put behind the others where it is new.
  std::size_t number(V const* stretch) {
    std::size_t at = hash(stretch) & (table_.size() - 1);
    for (; table_[at] != 0; at = (at + 1) & (table_.size() - 1))
      if (std::memcmp(kept_ + (table_[at] - 1) * block_, stretch, block_ * sizeof(V)) == 0)
        return table_[at] - 1;
    if (V* const to = kept_ + size_ * block_; to != stretch)
      std::copy_n(stretch, block_, to);
    table_[at] = ++size_;
    if (2 * size_ > table_.size())
      grow();
    return size_ - 1;
  }

private:
  std::size_t hash(V const* stretch) const {
    std::uint64_t lane[4] = {1, 2, 3, 4}; // independent, so that multiplications overlap
    for (std::size_t i = 0; i < block_; ++i) {
      std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t> bits;
      std::memcpy(&bits, stretch + i, sizeof(V));
      std::uint64_t const h = (lane[i % 4] ^ bits) * 0x9e3779b97f4a7c15u;
      lane[i % 4] = h ^ h >> 32;
    }
    std::uint64_t const h = (lane[0] ^ lane[1] * 3 ^ lane[2] * 5 ^ lane[3] * 7);
    return static_cast<std::size_t>(h ^ h >> 29);
  }
  void new_table(std::size_t size) {
    {
      std::lock_guard const lock(one_at_a_time_);
      table_ = array<std::size_t>(size, memory_);
    }
    std::fill(table_.begin(), table_.end(), std::size_t(0));
  }
  void grow() {
    new_table(2 * table_.size());
    for (std::size_t k = 0; k < size_; ++k) {
      std::size_t at = hash(kept_ + k * block_) & (table_.size() - 1);
      while (table_[at] != 0)
        at = (at + 1) & (table_.size() - 1);
      table_[at] = k + 1;
    }
  }

  V* kept_;
  std::size_t block_;
  std::size_t size_ = 0;
  array<std::size_t> table_; // a power of two: number + 1, or 0
  std::pmr::memory_resource* memory_;
  std::mutex& one_at_a_time_;
};

/// Leaves of `val` each of its stretches of `block` values once, and says in `shared` which one it
/// is. Parts find their own first; what these have is then put together in the order of parts, so
/// that numbers are those of the first coming, whatever the parts.
template <class V, class O>
void dia_share(array<V>& val, array<O>& shared, std::size_t block, cpu const& where) {
  std::size_t const stretches = val.size() / block;
  if (stretches == 0)
    return;
  int const parts = parts_for(val.size(), where.threads);
  array<O> which(stretches, where.memory);
  array<std::size_t> count(static_cast<std::size_t>(parts), where.memory);
  std::mutex one_at_a_time;
  auto const begin = [&](int part) { return split(stretches, part, parts); };
  parallel(parts, [&](int part) {
    stretch_set<V> mine(val.data() + begin(part) * block, block, where, one_at_a_time);
    for (std::size_t s = begin(part); s < begin(part + 1); ++s)
      which[s] = static_cast<O>(mine.number(val.data() + s * block));
    count[static_cast<std::size_t>(part)] = mine.size();
  });
  // Those of the first part are where they belong; others move up.
  stretch_set<V> all(val.data(), block, where, one_at_a_time);
  array<O> number(stretches, where.memory); // of a part's k-th, at its begin + k
  for (int part = 0; part < parts; ++part)
    for (std::size_t k = begin(part); k < begin(part) + count[static_cast<std::size_t>(part)]; ++k)
      number[k] = static_cast<O>(all.number(val.data() + k * block));
  parallel(parts, [&](int part) {
    for (std::size_t s = begin(part); s < begin(part + 1); ++s)
      which[s] = number[begin(part) + static_cast<std::size_t>(which[s])];
  });
  val = array<V>(val.data(), all.size() * block, where.memory);
  shared = std::move(which);
}

/// The same of the values of m.
template <class Dia>
void dia_share(Dia& m, cpu const& where) {
  dia_share(m.val, m.shared, static_cast<std::size_t>(m.block), where);
}

} // namespace tulle::detail
