// SPDX-License-Identifier: Apache-2.0

// Merges of many pairs of short sorted lists (primitive/merge.hpp): the shape that rows of a
// sparse product or sum have. A list ascending and the other one descending behind it are a bitonic
// sequence, which a network sorts without a branch that depends on the keys. Longer lists stream
// through a network: it takes a block of the list with the smaller head, gives the smaller half of
// what it holds and keeps the greater.
#pragma once
#include "kernel/primitive/network.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int network_vectors = 4;              // of the longest merge by one network; 8: no faster
constexpr int merge_limit = 1 << position_bits; // entries merged at once, with values

/// The first n lanes, n clamped to what a vector has.
template <class D>
HWY_INLINE auto first_lanes(D d, std::int64_t n) {
  constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  n = n < 0 ? 0 : n;
  return hn::FirstN(d, static_cast<std::size_t>(n < lanes ? n : lanes));
}

/// Vector of the first n values at p, n clamped to what a vector holds; `none` in the lanes beyond.
template <class D>
HWY_INLINE hn::Vec<D> load_some(D d, hn::TFromD<D> const* p, std::int64_t n, hn::Vec<D> none) {
  constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  if constexpr (HWY_MAX_BYTES >= 32) { // has loads that do not touch what the mask leaves out
    auto const some = first_lanes(d, n);
    return hn::IfThenElse(some, hn::MaskedLoad(some, d, p), none);
  } else {
    if (n >= lanes)
      return hn::LoadU(d, p);
    HWY_ALIGN hn::TFromD<D> few[lanes];
    hn::Store(none, d, few);
    for (int k = 0; k < n; ++k)
      few[k] = p[k];
    return hn::Load(d, few);
  }
}

/// A list of keys as vectors, the greatest key in the lanes beyond its end.
template <class K>
struct keys_of {
  using lane = K;
  K const* keys;
  std::int64_t n;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::int64_t at) const {
    return load_some(d, keys + at, n - at, hn::Set(d, greatest_key<K>));
  }
};

/// The same of int64 with each key's position behind `first` packed into it.
template <class K>
struct packed_keys_of {
  using lane = std::int64_t;
  K const* keys;
  std::int64_t n;
  std::int64_t first;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::int64_t at) const {
    hn::Rebind<K, D> const dk;
    auto const raw = load_some(dk, keys + at, n - at, hn::Zero(dk));
    // Not Iota(d, first + at): that goes through memory, lane by lane.
    auto const position = hn::Add(hn::Iota(d, 0), hn::Set(d, first + at));
    auto const some = first_lanes(d, n - at);
    auto const none = hn::Set(d, greatest_key<std::int64_t>);
    if constexpr (sizeof(K) == 4)
      return hn::IfThenElse(
          some, hn::Add(hn::ShiftLeft<key_shift<K>>(hn::PromoteTo(d, raw)), position), none);
    else
      return hn::IfThenElse(some, hn::Add(hn::ShiftLeft<key_shift<K>>(raw), position), none);
  }
};

/// put(vector, at) for the merge of a and b, by one network of `count` vectors.
template <int count, class List, class Put>
HWY_INLINE void merge_network(List a, List b, Put put) {
  using K = typename List::lane;
  hn::ScalableTag<K> const d;
  constexpr int lanes = lanes_of<K>;
  hn::Vec<decltype(d)> v[count];
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i) // where both reach into one vector, the other has greatest keys
    v[i] = hn::Min(a.load(d, i * lanes), hn::Reverse(d, b.load(d, (count - 1 - i) * lanes)));
  clean_registers<count>(d, v);
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i)
    put(v[i], i * lanes);
}

/// The key at `at`, or the greatest behind the end.
template <class List>
HWY_INLINE typename List::lane head_of(List list, std::int64_t at) {
  using K = typename List::lane;
  K const key = list.keys[at < list.n ? at : list.n - 1];
  return at < list.n ? key : greatest_key<K>;
}

/// x where all bits of from_x are set, y where none is.
HWY_INLINE std::int64_t pick(std::int64_t from_x, std::int64_t x, std::int64_t y) {
  return y ^ ((x ^ y) & from_x);
}
template <class K>
HWY_INLINE K const* pick(std::int64_t from_x, K const* x, K const* y) {
  return reinterpret_cast<K const*>(
      pick(from_x, reinterpret_cast<std::intptr_t>(x), reinterpret_cast<std::intptr_t>(y)));
}

/// The same by streaming, for lists that are not empty.
template <class List, class Put>
HWY_INLINE void merge_stream(List a, List b, Put put) {
  using K = typename List::lane;
  hn::ScalableTag<K> const d;
  constexpr int lanes = lanes_of<K>;
  auto held = a.load(d, 0);
  std::int64_t i = lanes;
  std::int64_t j = 0;
  std::int64_t const last = ((a.n + lanes - 1) / lanes + (b.n + lanes - 1) / lanes - 1) * lanes;
  for (std::int64_t at = 0; at < last; at += lanes) {
    // Bits instead of a branch, which could not be guessed.
    std::int64_t const from_a = -static_cast<std::int64_t>(head_of(a, i) <= head_of(b, j));
    List from = a;
    from.keys = pick(from_a, a.keys, b.keys);
    from.n = pick(from_a, a.n, b.n);
    if constexpr (requires { from.first; })
      from.first = pick(from_a, a.first, b.first);
    auto const next = hn::Reverse(d, from.load(d, pick(from_a, i, j)));
    i += lanes & from_a;
    j += lanes & ~from_a;
    put(clean_lanes<lanes / 2>(d, hn::Min(held, next)), at);
    held = clean_lanes<lanes / 2>(d, hn::Max(held, next));
  }
  put(held, last);
}

/// The same for any two lists.
template <int count = 1, class List, class Put>
HWY_INLINE void merge_lists(List a, List b, Put put) {
  constexpr int lanes = lanes_of<typename List::lane>;
  if (a.n + b.n <= count * lanes)
    merge_network<count>(a, b, put);
  else if constexpr (2 * count <= network_vectors)
    merge_lists<2 * count>(a, b, put);
  else if (a.n == 0 || b.n == 0)
    for (std::int64_t at = 0; at < a.n + b.n; at += lanes)
      put((b.n == 0 ? a : b).load(hn::ScalableTag<typename List::lane>(), at), at);
  else
    merge_stream(a, b, put);
}

/// Stores v to out[at..n) as far as it reaches, and beyond up to `room`.
template <class D>
HWY_INLINE void store_some(D d, hn::Vec<D> v, hn::TFromD<D>* out, std::int64_t at, std::int64_t n,
                           std::int64_t room) {
  constexpr int lanes = static_cast<int>(hn::MaxLanes(D()));
  if (at + lanes <= room) {
    hn::StoreU(v, d, out + at);
  } else {
    HWY_ALIGN hn::TFromD<D> few[lanes];
    hn::Store(v, d, few);
    for (std::int64_t k = 0; at + k < n && k < lanes; ++k)
      out[at + k] = few[k];
  }
}

/// Merges list p of a with list p of b, for p in [0, lists): a[a_ptr[p] .. a_ptr[p + 1]) and so b,
/// into as many entries of out, one pair's behind another's.
template <class K, class O>
void merge(std::int64_t lists, O const* a_ptr, K const* a, O const* b_ptr, K const* b, K* out) {
  // The results come in order, so what is written past one of them is overwritten by the next.
  std::int64_t room = static_cast<std::int64_t>(a_ptr[lists] - a_ptr[0]) + b_ptr[lists] - b_ptr[0];
  for (std::int64_t p = 0; p < lists; ++p) {
    std::int64_t const na = a_ptr[p + 1] - a_ptr[p];
    std::int64_t const nb = b_ptr[p + 1] - b_ptr[p];
    hn::ScalableTag<K> const d;
    merge_lists(keys_of<K>{a + a_ptr[p], na}, keys_of<K>{b + b_ptr[p], nb},
                [=](hn::Vec<decltype(d)> v, std::int64_t at)
                    HWY_ATTR { store_some(d, v, out, at, na + nb, room); });
    out += na + nb;
    room -= na + nb;
  }
}

/// The loop for keys that positions cannot be packed into.
template <class K, class V>
HWY_NOINLINE void serial_merge(K const* a, V const* av, std::int64_t na, K const* b, V const* bv,
                               std::int64_t nb, K* out, V* outv) {
  for (std::int64_t i = 0, j = 0; i < na || j < nb;) {
    bool const from_b = i == na || (j < nb && b[j] < a[i]);
    *out++ = from_b ? b[j] : a[i];
    *outv++ = from_b ? bv[j] : av[i];
    i += !from_b;
    j += from_b;
  }
}

/// How many of the first `diagonal` entries of the merge come from a.
template <class K>
HWY_INLINE std::int64_t merge_path(K const* a, std::int64_t na, K const* b, std::int64_t nb,
                                   std::int64_t diagonal) {
  std::int64_t lo = diagonal > nb ? diagonal - nb : 0;
  std::int64_t hi = diagonal < na ? diagonal : na;
  while (lo < hi) {
    std::int64_t const mid = lo + (hi - lo) / 2;
    bool const less = b[diagonal - 1 - mid] < a[mid];
    hi = less ? mid : hi;
    lo = less ? lo : mid + 1;
  }
  return lo;
}

/// Copies n values by whole vectors of `to`.
template <class V>
HWY_INLINE void copy_padded(V const* from, std::int64_t n, V* to) {
  hn::ScalableTag<std::uint32_t> const d;
  constexpr int words = sizeof(V) / 4;
  auto const* const source = reinterpret_cast<std::uint32_t const*>(from);
  auto* const target = reinterpret_cast<std::uint32_t*>(to);
  for (std::int64_t i = 0; i < n * words; i += lanes_of<std::uint32_t>)
    hn::StoreU(load_some(d, source + i, n * words - i, hn::Zero(d)), d, target + i);
}

/// One pair with values, na + nb <= merge_limit; out has room for `room` keys.
template <class K, class V>
HWY_INLINE void merge_packed(K const* a, V const* av, std::int64_t na, K const* b, V const* bv,
                             std::int64_t nb, K* out, V* outv, std::int64_t room) {
  hn::ScalableTag<std::int64_t> const d;
  constexpr int lanes = lanes_of<std::int64_t>;
  std::int64_t const n = na + nb;
  // Values side by side: to choose the list for each would be a branch that cannot be guessed.
  V both[merge_limit + HWY_MAX_BYTES / sizeof(V)];
  copy_padded(av, na, both);
  copy_padded(bv, nb, both + na);
  HWY_ALIGN std::int64_t position[merge_limit + 2 * lanes];
  merge_lists(packed_keys_of<K>{a, na, 0}, packed_keys_of<K>{b, nb, na},
              [&](hn::Vec<decltype(d)> v, std::int64_t at) HWY_ATTR {
                hn::Store(hn::And(v, hn::Set(d, merge_limit - 1)), d, position + at);
                auto const key = hn::ShiftRight<key_shift<K>>(v);
                hn::Rebind<K, decltype(d)> const dk;
                if constexpr (sizeof(K) == 4) {
                  hn::RebindToUnsigned<decltype(d)> const wide;
                  hn::RebindToUnsigned<decltype(dk)> const narrow;
                  auto const low = hn::TruncateTo(narrow, hn::BitCast(wide, key));
                  store_some(dk, hn::BitCast(dk, low), out, at, n, room);
                } else {
                  store_some(dk, key, out, at, n, room);
                }
              });
  // Whole groups while there is room: a last few of any number would cost a branch for each.
  std::int64_t i = 0;
  for (; i < n && i + lanes <= room; i += lanes)
#pragma GCC unroll 8
    for (int k = 0; k < lanes; ++k)
      outv[i + k] = both[position[i + k]];
  for (; i < n; ++i)
    outv[i] = both[position[i]];
}

/// The same with values. Stable: of equal keys those of a come first.
template <class K, class V, class O>
void merge(std::int64_t lists, O const* a_ptr, K const* a, V const* av, O const* b_ptr, K const* b,
           V const* bv, K* out, V* outv) {
  std::int64_t room = static_cast<std::int64_t>(a_ptr[lists] - a_ptr[0]) + b_ptr[lists] - b_ptr[0];
  for (std::int64_t p = 0; p < lists; ++p) {
    std::int64_t i = a_ptr[p];
    std::int64_t j = b_ptr[p];
    std::int64_t na = a_ptr[p + 1] - i;
    std::int64_t nb = b_ptr[p + 1] - j;
    bool const packs =
        (na == 0 || can_pack(a[i], a[i + na - 1])) && (nb == 0 || can_pack(b[j], b[j + nb - 1]));
    if (!packs) {
      serial_merge(a + i, av + i, na, b + j, bv + j, nb, out, outv);
      out += na + nb;
      outv += na + nb;
      room -= na + nb;
      continue;
    }
    do {
      std::int64_t const n = na + nb < merge_limit ? na + nb : merge_limit;
      std::int64_t const ia = n < merge_limit ? na : merge_path(a + i, na, b + j, nb, n);
      merge_packed(a + i, av + i, ia, b + j, bv + j, n - ia, out, outv, room);
      i += ia;
      j += n - ia;
      na -= ia;
      nb -= n - ia;
      out += n;
      outv += n;
      room -= n;
    } while (na + nb > 0);
  }
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
