// SPDX-License-Identifier: Apache-2.0

// Rows of C with few products, up to 16 rows at a time:
//
//   expand   for each row its products and their keys: column, number of the product
//   sort     the keys of each row in registers; equal columns get one rank
//   add      val[rank] += product, in the order of keys
//
// Keys are written in pieces and read as vectors, and such a read waits until all writes before it
// are in the cache. With other rows between a write and its read, it does not wait. One row at a
// time takes 1.13 times as long on mdual and 1.3 times on luxembourg_osm; 8 at a time as long
// as 16.
#pragma once
#include "cpu/spgemm/scatter.hpp"
#include "cpu/spgemm/tiny.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// For each byte, how many of its bits are set up to each place, one byte per place.
struct bits_up_to_table {
  std::uint64_t of[256];
  constexpr bits_up_to_table() : of() {
    for (unsigned bits = 0; bits < 256; ++bits) {
      std::uint64_t n = 0;
      for (unsigned k = 0; k < 8; ++k) {
        n += bits >> k & 1;
        of[bits] |= n << (8 * k);
      }
    }
  }
};
constexpr bits_up_to_table bits_up_to;

/// For each byte, the places of its bits, one byte per place.
struct bit_places_table {
  std::uint64_t of[256];
  constexpr bit_places_table() : of() {
    for (unsigned bits = 0; bits < 256; ++bits)
      for (std::uint64_t k = 0, n = 0; k < 8; ++k)
        if (bits >> k & 1)
          of[bits] |= k << (8 * n++);
  }
};
constexpr bit_places_table bit_places;

/// Stores the lanes of v whose bits are set, and others after them up to a whole vector.
/// For vectors of eight lanes hn::Compress copies its table to the stack first.
template <class D>
HWY_INLINE void store_lanes(D d, hn::Vec<D> v, hn::Mask<D> is, std::uint64_t bits,
                            std::int32_t* to) {
  if constexpr (lanes_of<std::int32_t> == 8) {
    (void)is;
    hn::Rebind<std::uint8_t, D> const narrow;
    auto const places = hn::PromoteTo(
        d, hn::LoadU(narrow, reinterpret_cast<std::uint8_t const*>(bit_places.of + bits)));
    hn::StoreU(hn::TableLookupLanes(v, hn::IndicesFromVec(d, places)), d, to);
  } else {
    (void)bits;
    hn::StoreU(hn::Compress(v, is), d, to);
  }
}

/// 0, 1, 2 ..., and the number of the lane before each. hn::Iota copies such a table to the stack
/// first, which takes longer than a sort.
template <class K>
struct lane_table {
  HWY_ALIGN K of[tiny_products];
  HWY_ALIGN K before[lanes_of<K>];
  constexpr lane_table() : of(), before() {
    for (int k = 0; k < tiny_products; ++k)
      of[k] = static_cast<K>(k);
    for (int k = 0; k < lanes_of<K>; ++k)
      before[k] = static_cast<K>((k + lanes_of<K> - 1) % lanes_of<K>);
  }
};
template <class K>
constexpr lane_table<K> lane_numbers;

template <class V, class I, class O>
class few_rows {
public:
  static constexpr int at_once = 16;
  using key = std::int32_t;

  /// Whether columns and places fit a key, and all keys of a row the registers.
  static bool fit(i64 cols) {
    return sizeof(I) == 4 && registers * lanes >= tiny_products &&
           cols < i64(1) << (31 - tiny_bits);
  }

  /// Columns, unless col is nullptr, and values of up to at_once rows from row i on, which have at
  /// most tiny_products products. ends[r] becomes the entries of rows up to r. There is room for
  /// kept_padding more.
  template <class C>
  HWY_NOINLINE void fill(C const& c, i64 i, int rows, I* col, V* val, i64* ends) {
    int start = 0;
    for (int r = 0; r < rows; ++r) {
      start_[r] = start;
      n_[r] = products(c, i + r, start);
      start += n_[r] > 32 ? tiny_products : (n_[r] + 16) & ~15; // what sort() writes
    }
    i64 at = 0;
    for (int r = 0; r < rows; ++r) {
      auto* const to = col ? reinterpret_cast<key*>(col + at) : unused_;
      at += sort(start_[r], n_[r], to);
      ends[r] = at;
    }
    if (c.t.all.products > products_in_cache) { // the next rows will fill about as much
      for (i64 q = 0; q < at; q += line / i64{sizeof(V)})
        __builtin_prefetch(val + at + q, 1);
      for (i64 q = 0; col && q < at; q += line / i64{sizeof(I)})
        __builtin_prefetch(col + at + q, 1);
    }
    at = 0;
    for (int r = 0; r < rows; ++r) {
      add(start_[r], n_[r], val + at);
      at = ends[r];
    }
  }

private:
  static constexpr int lanes = lanes_of<key>;
  static constexpr i64 line = 64; // bytes
  // With more products what is written is not in the cache and is prefetched. mdual, ms of one
  // thread of Zen 5 to count: with 11.9, without 14.4; three others alike, and smaller ones slower.
  static constexpr i64 products_in_cache = 1 << 20;

  /// Keys and products of a row.
  template <class C>
  HWY_INLINE int products(C const& c, i64 i, int start) {
    hn::CappedTag<key, tiny_length> const d;
    constexpr int step = static_cast<int>(hn::MaxLanes(d));
    O const* const ptr = c.b.ptr;
    I const *const a_col = c.a.col, *const b_col = c.b.col;
    V const *const a_val = c.a_val, *const b_val = c.b_val;
    O const* const first = static_cast<O const*>(c.t.first);
    i64 const whole = static_cast<i64>(c.b.nnz) - tiny_length;
    bool const fetches = c.is_large_b();
    key* const keys = key_ + start;
    V* const vals = value_ + start;
    i64 n = 0;
    for (i64 k = c.a.begin(i), end = c.a.begin(i + 1); k < end; ++k) {
      if (fetches)
        c.template prefetch<true>(b_val, k);
      auto const j = static_cast<std::size_t>(a_col[k]);
      i64 const from = static_cast<i64>(first ? first[k] : ptr[j]),
                length = static_cast<i64>(ptr[j + 1]) - from;
      V const factor = a_val[k];
      for (i64 p = 0; p < length; p += tiny_length) {
        if (HWY_UNLIKELY(from + p > whole)) { // nothing may be read after the last row
          for (i64 q = p; q < length; ++q) {
            keys[n + q] = static_cast<key>(b_col[from + q] * tiny_products + (n + q));
            vals[n + q] = times(factor, b_val[from + q]);
          }
          break;
        }
        // The next row is written over what is too much.
        for (int q = 0; q < tiny_length; q += step)
          hn::StoreU(hn::Add(hn::ShiftLeft<tiny_bits>(
                                 hn::LoadU(d, reinterpret_cast<key const*>(b_col + from + p) + q)),
                             hn::Add(hn::Load(d, lane_numbers<key>.of + q),
                                     hn::Set(d, static_cast<key>(n + p)))),
                     d, keys + n + p + q);
        scatter_row<V, I, O>::multiply(factor, b_val + from + p, vals + n + p);
      }
      n += length;
    }
    return static_cast<int>(n);
  }

  HWY_INLINE i64 sort(int start, int n, key* col) {
    if (n <= lanes)
      return sort_as<1>(start, n, col);
    if (n <= 2 * lanes)
      return sort_as<2>(start, n, col);
    if constexpr (4 * lanes < tiny_products)
      if (n > 4 * lanes)
        return sort_as<registers>(start, n, col);
    return sort_as<4>(start, n, col);
  }

  /// Sorts the n keys from `start` on and ranks them. Returns how many columns there are.
  template <int count>
  HWY_INLINE i64 sort_as(int start, int n, key* col) {
    hn::ScalableTag<key> const d;
    key* const keys = key_ + start;
    std::uint8_t* const rank = rank_ + start;
    hn::Vec<decltype(d)> v[count];
    auto const end = hn::Set(d, static_cast<key>(n));
#pragma GCC unroll 8
    for (int q = 0; q < count; ++q)
      v[q] = hn::IfThenElse(hn::Lt(hn::Load(d, lane_numbers<key>.of + q * lanes), end),
                            hn::Load(d, keys + q * lanes), hn::Set(d, greatest_key<key>));
    sort_registers<count>(d, v);
    // Lane k gets lane k - 1, and the first one the last of the vector before.
    auto const turn = hn::SetTableIndices(d, lane_numbers<key>.before);
    auto const is_first = hn::Eq(hn::Load(d, lane_numbers<key>.of), hn::Zero(d));
    auto turned = hn::Set(d, key(-1));
    i64 m = 0;
#pragma GCC unroll 8
    for (int q = 0; q < count; ++q) {
      hn::Store(v[q], d, keys + q * lanes);
      auto const j = hn::ShiftRight<tiny_bits>(v[q]);
      auto const next = hn::TableLookupLanes(j, turn);
      auto const is_new = hn::And(hn::Ne(j, hn::IfThenElse(is_first, turned, next)),
                                  hn::Lt(hn::Load(d, lane_numbers<key>.of + q * lanes), end));
      turned = next;
      std::uint64_t bits = 0;
      hn::StoreMaskBits(d, is_new, reinterpret_cast<std::uint8_t*>(&bits));
      store_lanes(d, j, is_new, bits, col + m);
      for (int k = 0; k < lanes; k += 8) {
        std::uint64_t const up_to = bits_up_to.of[bits >> k & 255] +
                                    static_cast<std::uint64_t>(m - 1) * 0x0101010101010101u;
        std::memcpy(rank + q * lanes + k, &up_to, sizeof up_to);
        m += __builtin_popcountll(bits >> k & 255);
      }
    }
    return m;
  }

  HWY_INLINE void add(int start, int n, V* val) const {
    key const* const keys = key_ + start;
    std::uint8_t const* const rank = rank_ + start;
    V const* const vals = value_ + start;
    for (int q = 0; q < n; q += 4)
      for (int o = 0; o < 4; ++o)
        val[q + o] = nothing<V>();
    for (int p = 0; p < n; ++p) {
      V& sum = val[rank[p]];
      sum = sum + vals[keys[p] & (tiny_products - 1)];
    }
  }

  static constexpr int most = at_once * tiny_products + 64;
  int start_[at_once], n_[at_once];
  HWY_ALIGN key key_[most];
  HWY_ALIGN V value_[most];
  std::uint8_t rank_[most];
  key unused_[tiny_products + 64];
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA
