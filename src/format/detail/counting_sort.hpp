// SPDX-License-Identifier: Apache-2.0

/// A parallel, stable counting sort: what turns rows into columns and triplets into rows.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"

#include "format/detail/mirror.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tulle::detail {

/// Deals entries to buckets, keeping their order within a bucket. walk(part, parts, f) calls
/// f(bucket, entry...) for the entries of one part in order; place(position, next, entry...) stores
/// one, next[b] being the position of the next entry of bucket b; count(part, parts, f) calls
/// f(bucket) for the entries that walk does, in any order. Returns where each bucket begins,
/// buckets + 1 offsets. The outcome is the same for every number of threads.
template <class O, class Count, class Walk, class Place>
array<O> counting_sort(std::size_t buckets, std::size_t entries, Count count_all, Walk walk,
                       Place place, cpu const& where) {
  // Each part needs a counter a bucket: more parts than entries/buckets would spend their time on
  // counters.
  int const parts = parts_for(entries, where.threads, buckets / 2 + (1 << 15));
  array<O> ptr(buckets + 1, where.memory);
  array<O> next(checked_mul(buckets, static_cast<std::size_t>(parts), "counting sort"),
                where.memory);
  array<O> first(static_cast<std::size_t>(parts) + 1, where.memory); // of a part's buckets
  auto const all = static_cast<std::size_t>(parts);
  parallel(parts, [&](int part) {
    O* const count = next.data() + static_cast<std::size_t>(part) * buckets;
    std::fill_n(count, buckets, O(0));
    count_all(part, parts, [count](std::size_t bucket, auto...) { ++count[bucket]; });
  });
  // Counts to positions, by parts of the buckets: of buckets before, then of parts before. The ends
  // of a part are found before its loop; in its condition they were found again for each bucket,
  // since a counter might have been `parts`. ms of a transpose, two threads, so and now: lattice
  // 4.6, 4.2; poisson2d5 1000 11.0, 9.3.
  parallel(parts, [&](int part) {
    std::size_t const begin = split(buckets, part, parts);
    std::size_t const end = part + 1 < parts ? split(buckets, part + 1, parts) : begin;
    O sum = 0;
    for (std::size_t p = 0; p < all; ++p) {
      O const* const count = next.data() + p * buckets;
      for (std::size_t b = begin; b < end; ++b)
        sum = static_cast<O>(sum + count[b]);
    }
    first[static_cast<std::size_t>(part) + 1] = sum;
  });
  first[0] = 0;
  for (std::size_t p = 0; p < all; ++p)
    first[p + 1] = static_cast<O>(first[p] + first[p + 1]);
  parallel(parts, [&, all, buckets](int part) {
    std::size_t const begin = split(buckets, part, parts);
    std::size_t const end = split(buckets, part + 1, parts);
    O* const to = ptr.data();
    O* const counters = next.data();
    O sum = first[static_cast<std::size_t>(part)];
    for (std::size_t b = begin; b < end; ++b) {
      to[b] = sum;
      for (std::size_t p = 0; p < all; ++p)
        sum = static_cast<O>(sum + std::exchange(counters[p * buckets + b], sum));
    }
    if (part + 1 == parts)
      to[buckets] = sum;
  });
  parallel(parts, [&](int part) {
    O* const at = next.data() + static_cast<std::size_t>(part) * buckets;
    // A copy of place is the part's own: what it knows need not be read again after each store.
    walk(part, parts, [at, place](std::size_t bucket, auto... entry) {
      place(static_cast<std::size_t>(at[bucket]++), static_cast<O const*>(at), entry...);
    });
  });
  return ptr;
}

/// The same, where what walks counts as well.
template <class O, class Walk, class Place>
array<O> counting_sort(std::size_t buckets, std::size_t entries, Walk walk, Place place,
                       cpu const& where) {
  return counting_sort<O>(buckets, entries, walk, walk, place, where);
}

// Entries of a block of buckets: what lies in it, sorted and not, stays in a core's own cache.
constexpr std::size_t block_entries = std::size_t{1} << 15;
constexpr std::size_t most_blocks = 1024; // streams that are written at once

// Where places are asked for ahead, blocks pay for themselves only if nearly all entries are far
// from those before, or if they are many. ms of a transpose, two threads, at once and by blocks,
// and the share of the far ones: rmat 18 28, 43 (.80); circuit 23, 22 (.26); fem 11, 29 (.07); rmat
// 20 235, 194 (.88); random rows 198, 77 (.99); lp 178, 86 (.98); permutation 174, 60 (1).
constexpr std::size_t many_entries = std::size_t{8} << 20;

/// The share of entries whose buckets are far from those of the entries before them, by a sample of
/// stretches.
template <class I>
double far_share(I const* bucket, std::size_t entries) {
  constexpr std::size_t stretches = 16, length = 2048, slots = 4096;
  constexpr int line = 3; // eight buckets begin on a cache line of values, if they are as many
  std::size_t fresh = 0;
  std::size_t const count = std::min(length, entries / stretches);
  for (std::size_t s = 0; s < stretches; ++s) {
    I seen[slots]; // one bucket's line for each slot, as in a cache
    std::fill_n(seen, slots, I(-1));
    I const* const first = bucket + entries / stretches * s;
    for (std::size_t k = 0; k < count; ++k) {
      I const at = static_cast<I>(first[k] >> line);
      I& slot = seen[static_cast<std::size_t>(at) % slots];
      fresh += slot != at;
      slot = at;
    }
  }
  return count == 0 ? 0 : static_cast<double>(fresh) / static_cast<double>(stretches * count);
}

// Entries between asking for the place of one and writing to it. Writes that miss the first cache
// wait for one another. ms of a transpose, one thread, without and with the best of 8, 16, 32, 64
// and 128: fem 35, 21 (32); circuit 60, 38 (64); poisson3d27 50, 31 (16); lattice 7.4, 7.4 (64).
constexpr std::size_t entries_ahead = 32;

// Where more than this share is far, what says the place is asked for too, twice as early. ms of a
// transpose, two threads, without and with: circuit 20.5, 17.1; lattice 3.5, 3.9.
constexpr double far_counters = .15;

// Where few are far and buckets have at most as many entries as a line of the cache has values, as
// from stencils, the last entries of rows go to places that follow one another. Asking once a row
// for what lies ahead of them, of A and of the outcome, takes the place of asking for each entry.
// ms of a transpose, two threads, so and by entry: lattice 3.1, 4.0; poisson2d5 1000 8.7, 10.0;
// mdual 2.8, 3.4. With 256 instead of 128 ahead: as long.
constexpr std::size_t line_entries = 8;
constexpr std::size_t order_ahead = 128;

/// As counting_sort, for entries that are an index and a value: walk calls f(k, index, value, last)
/// for k from first(part, parts) on, `last` with the last of an index, and bucket_of[k] is the
/// bucket of entry k. Where buckets are so many and so mixed that each write would miss the cache,
/// the entries first go to blocks of neighbouring buckets, which are then sorted one by one: that
/// takes the entries once more in memory while it runs.
template <class O, class I, class V, class First, class Walk>
array<O> bucket_sort(std::size_t buckets, std::size_t entries, I const* bucket_of, First first,
                     Walk walk, I* out_index, V* out_val, cpu const& where) {
  std::size_t const wanted = std::min(entries / block_entries, most_blocks);
  double const far = wanted < 4 || buckets < 4096 ? 0 : far_share(bucket_of, entries);
  if (far <= (entries < many_entries ? .95 : .5))
    return counting_sort<O>(
        buckets, entries,
        [&, bucket_of](int part, int all, auto&& f) { // without rows, which are short
          for (std::size_t k = first(part, all), end = first(part + 1, all); k < end; ++k)
            f(static_cast<std::size_t>(bucket_of[k]));
        },
        [&](int part, int all, auto&& f) {
          walk(part, all, [f, bucket_of](std::size_t k, I index, V const& value, bool last) {
            f(static_cast<std::size_t>(bucket_of[k]), k, index, value, last);
          });
        },
        [=, has_far = far > far_counters,
         in_order = far <= far_counters && entries <= line_entries * buckets](
            std::size_t at, O const* next, std::size_t k, I index, V const& value, bool last) {
          if (in_order) {
            if (last) {
              __builtin_prefetch(bucket_of + k + order_ahead);
              __builtin_prefetch(out_index + at + order_ahead, 1);
              __builtin_prefetch(out_val + at + order_ahead, 1);
            }
          } else {
            if (has_far && k + 2 * entries_ahead < entries)
              __builtin_prefetch(next + bucket_of[k + 2 * entries_ahead], 1);
            if (k + entries_ahead < entries) {
              O const soon = next[bucket_of[k + entries_ahead]];
              __builtin_prefetch(out_index + soon, 1);
              __builtin_prefetch(out_val + soon, 1);
            }
          }
          out_index[at] = index;
          out_val[at] = value;
        },
        where);
  int shift = 0;
  while ((buckets - 1) >> shift >= wanted)
    ++shift;
  std::size_t const width = std::size_t{1} << shift; // buckets of a block
  std::size_t const blocks = ((buckets - 1) >> shift) + 1;
  struct entry {
    V value;
    I index;
    std::uint32_t bucket; // within its block
  };
  int const parts = parts_for(entries, where.threads);
  array<O> ptr(buckets + 1, where.memory);
  array<O> next(checked_mul(width, static_cast<std::size_t>(parts), "bucket sort"), where.memory);
  array<entry> sorted(entries, where.memory); // by block
  array<O> const block_ptr = counting_sort<O>(
      blocks, entries,
      [&](int part, int all, auto&& f) {
        walk(part, all, [&](std::size_t k, I index, V const& value, bool) {
          auto const bucket = static_cast<std::size_t>(bucket_of[k]);
          f(bucket >> shift, entry{value, index, static_cast<std::uint32_t>(bucket & (width - 1))});
        });
      },
      [&](std::size_t at, O const*, entry const& e) { sorted[at] = e; }, where);
  parallel_each(blocks, parts, [&](std::size_t b, int part) {
    O* const at = next.data() + static_cast<std::size_t>(part) * width;
    std::size_t const from = b * width;
    std::size_t const here = std::min(width, buckets - from);
    entry const* const begin = sorted.data() + block_ptr[b];
    entry const* const end = sorted.data() + block_ptr[b + 1];
    std::fill_n(at, here, O(0));
    for (entry const* e = begin; e != end; ++e)
      ++at[e->bucket];
    O sum = block_ptr[b];
    for (std::size_t j = 0; j < here; ++j) {
      O const n = at[j];
      ptr[from + j] = at[j] = sum;
      sum = static_cast<O>(sum + n);
    }
    for (entry const* e = begin; e != end; ++e) {
      auto const to = static_cast<std::size_t>(at[e->bucket]++);
      out_index[to] = e->index;
      out_val[to] = e->value;
    }
  });
  ptr[buckets] = static_cast<O>(entries);
  return ptr;
}

/// The same for entries in lines, rows that become columns or columns rows: line i has the entries
/// from ptr[i] to ptr[i + 1], index[k] says the bucket of entry k, and value(k) is what goes there
/// with i. `from` is what value reads; it is asked for ahead. A pattern that equals its transpose
/// is copied, and no entry is sorted.
template <class V, class I, class O, class T, class Value>
array<O> sort_lines(O const* ptr, I const* index, T const* from, Value value, std::size_t lines,
                    std::size_t buckets, I* out_index, V* out_val, cpu const& where) {
  std::size_t const entries = ptr ? static_cast<std::size_t>(ptr[lines]) : 0;
  if (lines == buckets && looks_mirrored(ptr, index, lines)) {
    array<O> out_ptr(lines + 1, where.memory);
    if (copy_mirrored(ptr, index, from, value, lines, out_ptr.data(), out_index, out_val, where))
      return out_ptr;
  }
  return bucket_sort<O>(
      buckets, entries, index,
      [&](int part, int parts) {
        return entries == 0
                   ? 0
                   : static_cast<std::size_t>(ptr[split_by_entries(ptr, lines, part, parts)]);
      },
      [=](int part, int parts, auto&& f) {
        if (entries == 0)
          return;
        std::size_t const end = split_by_entries(ptr, lines, part + 1, parts);
        for (std::size_t i = split_by_entries(ptr, lines, part, parts); i < end; ++i) {
          O const stop = ptr[i + 1];
          __builtin_prefetch(from + stop + order_ahead);
          for (O k = ptr[i]; k < stop; ++k)
            f(static_cast<std::size_t>(k), static_cast<I>(i), value(k), k + 1 == stop);
        }
      },
      out_index, out_val, where);
}

} // namespace tulle::detail
