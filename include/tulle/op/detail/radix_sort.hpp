// SPDX-License-Identifier: Apache-2.0

/// A parallel, stable radix sort of (row, column) pairs with values.
///
/// Row and column are packed into one key of just the bits that they need. One pass deals the
/// entries to buckets by the key's first bits, all threads at once, each from its part of the
/// input; then each bucket is small enough for a core's cache, and is sorted there digit by digit
/// from the last to the first. A bucket that is not small (most entries in few rows) is sorted
/// digit by digit by all threads together. Digits that all keys share are skipped.
///
/// The result is the stable order, so it is the same for every number of threads.
/// Space: an entry (key and value) for each triplet, twice for those in large buckets.
#pragma once
#include "tulle/core/array.hpp"
#include "tulle/core/parallel.hpp"
#include "tulle/core/where.hpp"

#include <bit>
#include <cstdint>
#include <limits>

namespace tulle::primitive {
namespace detail {

using tulle::detail::parallel;
using tulle::detail::parts_for;
using tulle::detail::split;
using tulle::detail::split_by_entries;

// Bits of a digit. 10^7 random triplets, 10^6 rows and columns, one thread of Zen 4, best ms on a
// busy machine: 8 bits 111, 11 bits 125, which is within its noise. Dealing to rows and sorting
// within them: 480; std::sort of structs: 1040.
inline constexpr int digit_bits = 8;
inline constexpr std::size_t digits = std::size_t(1) << digit_bits;
// Entries of a bucket that are aimed at, and the most that one thread sorts by itself. Likewise,
// with 2^12: 248, 2^13: 159, 2^14: 163, 2^15: 146.
inline constexpr std::size_t bucket_entries = 1 << 15;
inline constexpr std::size_t bucket_limit = 1 << 17;
inline constexpr int bucket_bits_limit = 11;

template <class K, class V>
struct radix_entry {
  K key;
  V val;
};

/// Sorts `from` by `bits` bits of the key; `to` is room for as many. Returns which of the two holds
/// the result. One thread.
template <class K, class V>
radix_entry<K, V>* sort_digits(radix_entry<K, V>* from, radix_entry<K, V>* to, std::size_t n,
                               int bits) {
  using entry = radix_entry<K, V>;
  constexpr int most = (8 * static_cast<int>(sizeof(K)) + digit_bits - 1) / digit_bits;
  int const passes = (bits + digit_bits - 1) / digit_bits;
  std::uint32_t count[static_cast<std::size_t>(most)][digits];
  for (int p = 0; p < passes; ++p)
    for (std::uint32_t& c : count[p])
      c = 0;
  for (std::size_t i = 0; i < n; ++i) {
    K key = from[i].key;
    for (int p = 0; p < passes; ++p, key >>= digit_bits)
      ++count[p][static_cast<std::size_t>(key) % digits];
  }
  for (int p = 0; p < passes; ++p) {
    int const shift = p * digit_bits;
    auto const digit = [=](entry const& e) {
      // The bits beyond are the bucket's, the same for all.
      return static_cast<std::size_t>(e.key >> shift) % digits;
    };
    std::uint32_t* const at = count[p];
    if (n == 0 || at[digit(from[0])] == n)
      continue;
    std::uint32_t sum = 0;
    for (std::size_t d = 0; d < digits; ++d) {
      std::uint32_t const c = at[d];
      at[d] = sum;
      sum += c;
    }
    for (std::size_t i = 0; i < n; ++i)
      to[at[digit(from[i])]++] = from[i];
    entry* const sorted = to;
    to = from;
    from = sorted;
  }
  return from;
}

/// Deals entries to buckets in order: source(i) is entry i of n, bucket(entry) where it goes.
/// counts: parts * buckets, first[0..buckets] where the buckets begin.
template <class Entry, class Source, class Bucket>
void deal(Source source, std::size_t n, Bucket bucket, std::size_t buckets, Entry* to,
          std::size_t* first, std::size_t* counts, int parts) {
  parallel(parts, [&](int part) {
    std::size_t* const count = counts + static_cast<std::size_t>(part) * buckets;
    for (std::size_t b = 0; b < buckets; ++b)
      count[b] = 0;
    for (std::size_t i = split(n, part, parts), end = split(n, part + 1, parts); i < end; ++i)
      ++count[bucket(source(i))];
  });
  std::size_t sum = 0;
  for (std::size_t b = 0; b < buckets; ++b) {
    first[b] = sum;
    for (int part = 0; part < parts; ++part) {
      std::size_t& c = counts[static_cast<std::size_t>(part) * buckets + b];
      std::size_t const at = sum;
      sum += c;
      c = at;
    }
  }
  first[buckets] = sum;
  parallel(parts, [&](int part) {
    std::size_t* const at = counts + static_cast<std::size_t>(part) * buckets;
    for (std::size_t i = split(n, part, parts), end = split(n, part + 1, parts); i < end; ++i) {
      Entry const e = source(i);
      to[at[bucket(e)]++] = e;
    }
  });
}

/// sort_digits by all threads together, for buckets of any size.
template <class K, class V>
radix_entry<K, V>* sort_digits(radix_entry<K, V>* from, radix_entry<K, V>* to, std::size_t n,
                               int bits, cpu const& where) {
  using entry = radix_entry<K, V>;
  int const parts = parts_for(n, where.threads);
  array<std::size_t> counts(digits * static_cast<std::size_t>(parts), where.memory);
  std::size_t first[digits + 1];
  for (int shift = 0; shift < bits; shift += digit_bits) {
    auto const digit = [=](entry const& e) {
      return static_cast<std::size_t>(e.key >> shift) % digits;
    };
    std::size_t const d = digit(from[0]);
    bool same = true;
    for (std::size_t i = 1; same && i < n; ++i)
      same = digit(from[i]) == d;
    if (same)
      continue;
    deal([=](std::size_t i) { return from[i]; }, n, digit, digits, to, first, counts.data(), parts);
    entry* const sorted = to;
    to = from;
    from = sorted;
  }
  return from;
}

/// Part of the sorted entries. Its keys are in [least, greatest], where no other piece has any, so
/// entries of one place are in one piece; and the next piece's least is greatest + 1.
template <class K, class V>
struct radix_piece {
  std::size_t number; // in the order of keys
  std::size_t first;  // position of its first entry among all
  radix_entry<K, V> const* entries;
  radix_entry<K, V>* home; // as many, what remains of them behind the sort; may be entries
  std::size_t count;
  K least, greatest;
};

/// Triplets dealt to buckets by the first bits of their keys.
template <class K, class V>
class radix_buckets {
  using entry = radix_entry<K, V>;

public:
  /// n > 0; row_bits + col_bits is less than K has.
  template <class I>
  radix_buckets(I const* row, I const* col, V const* val, std::size_t n, int row_bits, int col_bits,
                cpu const& where)
      : where_(where), parts_(parts_for(n, where.threads)) {
    int const bits = row_bits + col_bits;
    int bucket_bits = static_cast<int>(std::bit_width(n / bucket_entries));
    bucket_bits = bucket_bits < bits ? bucket_bits : bits;
    bucket_bits = bucket_bits < bucket_bits_limit ? bucket_bits : bucket_bits_limit;
    rest_ = bits - bucket_bits;
    std::size_t const buckets = std::size_t(1) << bucket_bits;
    entries_ = array<entry>(n, where.memory);
    first_ = array<std::size_t>(buckets + 1, where.memory);
    piece_ = array<std::size_t>(buckets + 1, where.memory);
    array<std::size_t> counts(buckets * static_cast<std::size_t>(parts_), where.memory);
    auto const source = [=](std::size_t i) {
      using U = std::make_unsigned_t<I>;
      return entry{static_cast<K>(static_cast<K>(static_cast<U>(row[i])) << col_bits |
                                  static_cast<K>(static_cast<U>(col[i]))),
                   val[i]};
    };
    int const rest = rest_;
    deal(
        source, n, [=](entry const& e) { return static_cast<std::size_t>(e.key >> rest); }, buckets,
        entries_.data(), first_.data(), counts.data(), parts_);
    std::size_t largest = 0;
    piece_[0] = 0;
    for (std::size_t b = 0; b < buckets; ++b) {
      std::size_t const size = first_[b + 1] - first_[b];
      bool const large = size > bucket_limit;
      std::size_t& most = large ? largest : largest_small_;
      most = most > size ? most : size;
      piece_[b + 1] = piece_[b] + (large ? static_cast<std::size_t>(parts_) : 1);
    }
    // Rounded up, so that threads do not share cache lines.
    largest_small_ = (largest_small_ + 63) / 64 * 64;
    room_ = array<entry>(largest_small_ * static_cast<std::size_t>(parts_), where.memory);
    large_room_ = array<entry>(largest, where.memory);
  }

  std::size_t pieces() const { return piece_[buckets()]; }
  entry const* entries() const { return entries_.data(); }

  /// Sorts the entries and calls f(piece) for each piece, by many threads at once.
  template <class F>
  void sort(F f) {
    for (std::size_t b = 0; large_room_.size() > 0 && b < buckets(); ++b)
      if (size(b) > bucket_limit)
        sort_large(b, f);
    parallel(parts_, [&](int part) {
      std::size_t const end = split_by_entries(first_.data(), buckets(), part + 1, parts_);
      entry* const room = room_.data() + largest_small_ * static_cast<std::size_t>(part);
      for (std::size_t b = split_by_entries(first_.data(), buckets(), part, parts_); b < end; ++b)
        if (size(b) <= bucket_limit)
          f(radix_piece<K, V>{piece_[b], first_[b],
                              sort_digits(entries_.data() + first_[b], room, size(b), rest_),
                              entries_.data() + first_[b], size(b), least(b), greatest(b)});
    });
  }

private:
  std::size_t buckets() const { return first_.size() - 1; }
  std::size_t size(std::size_t b) const { return first_[b + 1] - first_[b]; }
  K least(std::size_t b) const { return static_cast<K>(static_cast<K>(b) << rest_); }
  K greatest(std::size_t b) const { return static_cast<K>(least(b) | ((K(1) << rest_) - 1)); }

  template <class F>
  void sort_large(std::size_t b, F& f) {
    std::size_t const count = size(b);
    entry const* const sorted =
        sort_digits(entries_.data() + first_[b], large_room_.data(), count, rest_, where_);
    // Even shares, each moved to the first entry of its place. All of them are known before any f
    // runs, since f may write to the entries that they are told by.
    auto const parts = static_cast<std::size_t>(parts_);
    array<radix_piece<K, V>> pieces(parts, where_.memory);
    std::size_t begin = 0;
    K low = least(b);
    for (std::size_t part = 0; part < parts; ++part) {
      std::size_t end = split(count, static_cast<int>(part) + 1, parts_);
      end = end < begin ? begin : end;
      while (end < count && sorted[end].key == sorted[end - 1].key) // a large bucket: end > 0
        ++end;
      K const high = end == count && part + 1 == parts ? greatest(b) : sorted[end - 1].key;
      pieces[part] = {piece_[b] + part,
                      first_[b] + begin,
                      sorted + begin,
                      entries_.data() + first_[b] + begin,
                      end - begin,
                      low,
                      high};
      begin = end;
      low = static_cast<K>(high + 1);
    }
    parallel(parts_, [&](int part) { f(pieces[static_cast<std::size_t>(part)]); });
  }

  cpu where_;
  int parts_;
  int rest_ = 0; // bits of a key behind the bucket's
  array<entry> entries_;
  array<std::size_t> first_; // entry of each bucket
  array<std::size_t> piece_; // of each bucket
  std::size_t largest_small_ = 0;
  array<entry> room_; // one small bucket for each thread
  array<entry> large_room_;
};

/// f(radix_buckets, column bits) with keys of as few bits as will do. n > 0.
template <class V, class I, class F>
void with_buckets(I const* row, I const* col, V const* val, std::size_t n, I rows, I cols,
                  cpu const& where, F f) {
  static_assert(std::is_signed_v<I> || sizeof(I) <= 4);
  using U = std::make_unsigned_t<I>;
  int const row_bits = static_cast<int>(std::bit_width(static_cast<U>(rows - 1)));
  int const col_bits = static_cast<int>(std::bit_width(static_cast<U>(cols - 1)));
  __extension__ using wide = unsigned __int128;
  if (std::numeric_limits<I>::digits < 32 || row_bits + col_bits < 64) {
    radix_buckets<std::uint64_t, V> buckets(row, col, val, n, row_bits, col_bits, where);
    f(buckets, col_bits);
  } else if constexpr (std::numeric_limits<I>::digits >= 32) {
    radix_buckets<wide, V> buckets(row, col, val, n, row_bits, col_bits, where);
    f(buckets, col_bits);
  }
}

} // namespace detail

/// Calls write(position, row, col, val) once for each of n triplets, positions ascending with (row,
/// col), equal ones in the order given, by many threads at once. 0 <= row < rows and 0 <= col <
/// cols for all of them. The first write comes after the last read of row, col and val.
template <class V, class I, class Write>
void radix_sort(I const* row, I const* col, V const* val, std::size_t n, I rows, I cols,
                Write write, cpu const& where = {}) {
  if (n == 0)
    return;
  detail::with_buckets(row, col, val, n, rows, cols, where, [&](auto& buckets, int col_bits) {
    buckets.sort([&](auto const& piece) {
      for (std::size_t k = 0; k < piece.count; ++k) {
        auto const& e = piece.entries[k];
        auto const i = e.key >> col_bits;
        write(piece.first + k, static_cast<I>(i), static_cast<I>(e.key ^ i << col_bits), e.val);
      }
    });
  });
}

/// Sorts triplets in place by row, then column; equal ones keep their order.
template <class V, class I>
void radix_sort(I* row, I* col, V* val, std::size_t n, I rows, I cols, cpu const& where = {}) {
  radix_sort(
      static_cast<I const*>(row), static_cast<I const*>(col), static_cast<V const*>(val), n, rows,
      cols,
      [=](std::size_t at, I r, I c, V const& v) {
        row[at] = r;
        col[at] = c;
        val[at] = v;
      },
      where);
}

} // namespace tulle::primitive
