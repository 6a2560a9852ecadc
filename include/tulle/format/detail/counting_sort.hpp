// SPDX-License-Identifier: Apache-2.0

/// A parallel, stable counting sort: what turns rows into columns and triplets into rows.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"

namespace tulle::detail {

/// Deals entries to buckets, keeping their order within a bucket. walk(part, parts, f) calls
/// f(bucket, entry...) for the entries of one part in order; place(position, entry...) stores one.
/// Returns where each bucket begins, buckets + 1 offsets. The outcome is the same for every number
/// of threads.
template <class O, class Walk, class Place>
array<O> counting_sort(std::size_t buckets, std::size_t entries, Walk walk, Place place,
                       cpu const& where) {
  // Each part needs a counter a bucket: more parts than entries/buckets would spend their time on
  // counters.
  int const parts = parts_for(entries, where.threads, buckets / 2 + (1 << 15));
  array<O> ptr(buckets + 1, where.memory);
  array<O> next(checked_mul(buckets, static_cast<std::size_t>(parts), "counting sort"), O(0),
                where.memory);
  parallel(parts, [&](int part) {
    O* const count = next.data() + static_cast<std::size_t>(part) * buckets;
    walk(part, parts, [&](std::size_t bucket, auto...) { ++count[bucket]; });
  });
  O sum = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    ptr[b] = sum;
    for (int p = 0; p < parts; ++p) {
      O& n = next[static_cast<std::size_t>(p) * buckets + b];
      O const first = sum;
      sum = static_cast<O>(sum + n);
      n = first;
    }
  }
  ptr[buckets] = sum;
  parallel(parts, [&](int part) {
    O* const at = next.data() + static_cast<std::size_t>(part) * buckets;
    walk(part, parts, [&](std::size_t bucket, auto... entry) {
      place(static_cast<std::size_t>(at[bucket]++), entry...);
    });
  });
  return ptr;
}

} // namespace tulle::detail
