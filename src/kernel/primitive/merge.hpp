// SPDX-License-Identifier: Apache-2.0

// Merges of many pairs of short sorted lists (tulle/primitive/merge.hpp): the shape that rows of a
// sparse product or sum have. A list ascending and the other one descending behind it are a bitonic
// sequence, which a network sorts without a branch that depends on the keys.
#pragma once
#include "kernel/primitive/network.hpp"

namespace tulle::simd::TULLE_ISA {
namespace {

constexpr int merge_registers = 16; // vectors of the longest merge by network; keys only
constexpr int merge_limit = 256;    // entries of it, with values
static_assert(merge_limit <= 1 << position_bits);

/// The loop for pairs too long for the network.
template <class K>
HWY_NOINLINE void serial_merge(K const* a, std::int64_t na, K const* b, std::int64_t nb, K* out) {
  std::int64_t i = 0;
  std::int64_t j = 0;
  while (i < na && j < nb) {
    bool const from_b = b[j] < a[i];
    *out++ = from_b ? b[j] : a[i];
    i += !from_b;
    j += from_b;
  }
  while (i < na)
    *out++ = a[i++];
  while (j < nb)
    *out++ = b[j++];
}
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

/// Vector `number` of the n keys at p, the greatest key in the lanes beyond.
template <class D, class K>
HWY_INLINE hn::Vec<D> load_keys(D d, K const* p, std::int64_t n, int number) {
  constexpr int lanes = lanes_of<K>;
  n -= number * lanes;
  auto const none = hn::Set(d, greatest_key<K>);
  if (n <= 0)
    return none;
  p += number * lanes;
  if (n >= lanes)
    return hn::LoadU(d, p);
  if constexpr (HWY_MAX_BYTES >= 32) { // has loads that do not touch what the mask leaves out
    auto const some = hn::FirstN(d, static_cast<std::size_t>(n));
    return hn::IfThenElse(some, hn::MaskedLoad(some, d, p), none);
  } else {
    HWY_ALIGN K few[lanes];
    for (int k = 0; k < lanes; ++k)
      few[k] = k < n ? p[k] : greatest_key<K>;
    return hn::Load(d, few);
  }
}

/// One pair by a network of `count` vectors; out may be written up to `limit`.
template <int count, class K>
HWY_NOINLINE void merge_network(K const* a, std::int64_t na, K const* b, std::int64_t nb, K* out,
                                K const* limit) {
  hn::ScalableTag<K> const d;
  constexpr int lanes = lanes_of<K>;
  hn::Vec<decltype(d)> v[count];
#pragma GCC unroll 16
  for (int i = 0; i < count; ++i) // where both reach into one vector, the other has greatest keys
    v[i] = hn::Min(load_keys(d, a, na, i), hn::Reverse(d, load_keys(d, b, nb, count - 1 - i)));
  clean_registers<count>(d, v);
  std::int64_t const n = na + nb;
  if (limit - out >= count * lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i)
      hn::StoreU(v[i], d, out + i * lanes);
  } else {
    HWY_ALIGN K all[count * lanes];
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i)
      hn::Store(v[i], d, all + i * lanes);
    for (std::int64_t i = 0; i < n; ++i)
      out[i] = all[i];
  }
}

/// Merges list p of a with list p of b, for p in [0, lists): a[a_ptr[p] .. a_ptr[p + 1]) and so b,
/// into as many entries of out, one pair's behind another's.
template <class K, class O>
void merge(std::int64_t lists, O const* a_ptr, K const* a, O const* b_ptr, K const* b, K* out) {
  constexpr int lanes = lanes_of<K>;
  // The results come in order, so what is written past one of them is overwritten by the next.
  K const* const limit =
      out + (a_ptr[lists] - a_ptr[0]) + static_cast<std::int64_t>(b_ptr[lists] - b_ptr[0]);
  for (std::int64_t p = 0; p < lists; ++p) {
    std::int64_t const na = a_ptr[p + 1] - a_ptr[p];
    std::int64_t const nb = b_ptr[p + 1] - b_ptr[p];
    K const* const pa = a + a_ptr[p];
    K const* const pb = b + b_ptr[p];
    std::int64_t const n = na + nb;
    if (n <= lanes)
      merge_network<1>(pa, na, pb, nb, out, limit);
    else if (n <= 2 * lanes)
      merge_network<2>(pa, na, pb, nb, out, limit);
    else if (n <= 4 * lanes)
      merge_network<4>(pa, na, pb, nb, out, limit);
    else if (n <= 8 * lanes)
      merge_network<8>(pa, na, pb, nb, out, limit);
    else if (n <= merge_registers * lanes)
      merge_network<merge_registers>(pa, na, pb, nb, out, limit);
    else
      serial_merge(pa, na, pb, nb, out);
    out += n;
  }
}

/// Vector `number` of the n keys at p, each with its position behind `first` packed into it.
template <class D, class K>
HWY_INLINE hn::Vec<D> load_packed(D d, K const* p, std::int64_t n, int number, std::int64_t first) {
  constexpr int lanes = lanes_of<std::int64_t>;
  n -= number * lanes;
  auto const none = hn::Set(d, greatest_key<std::int64_t>);
  if (n <= 0)
    return none;
  p += number * lanes;
  auto const at = hn::Iota(d, first + number * lanes);
  auto const pack = [=](K const* from) HWY_ATTR {
    if constexpr (sizeof(K) == 4) {
      auto const wide = hn::PromoteTo(d, hn::LoadU(hn::Rebind<K, D>(), from));
      return hn::Add(hn::ShiftLeft<key_shift<K>>(wide), at);
    } else {
      return hn::Add(hn::ShiftLeft<key_shift<K>>(hn::LoadU(d, from)), at);
    }
  };
  if (n >= lanes)
    return pack(p);
  K few[lanes] = {};
  for (int k = 0; k < n; ++k)
    few[k] = p[k];
  return hn::IfThenElse(hn::FirstN(d, static_cast<std::size_t>(n)), pack(few), none);
}

/// One pair with values by a network of `count` vectors.
template <int count, class K, class V>
HWY_NOINLINE void merge_network(K const* a, V const* av, std::int64_t na, K const* b, V const* bv,
                                std::int64_t nb, K* out, V* outv) {
  hn::ScalableTag<std::int64_t> const d;
  constexpr int lanes = lanes_of<std::int64_t>;
  HWY_ALIGN std::int64_t room[count * lanes];
  for (int i = 0; i < count; ++i)
    hn::Store(hn::Min(load_packed(d, a, na, i, 0),
                      hn::Reverse(d, load_packed(d, b, nb, count - 1 - i, na))),
              d, room + i * lanes);
  clean<count>(room);
  // Values side by side: to choose the list for each would be a branch that cannot be guessed.
  V both[count * lanes];
  for (std::int64_t i = 0; i < na; ++i)
    both[i] = av[i];
  for (std::int64_t j = 0; j < nb; ++j)
    both[na + j] = bv[j];
  for (std::int64_t i = 0; i < na + nb; ++i) {
    out[i] = static_cast<K>(room[i] >> key_shift<K>);
    outv[i] = both[room[i] & ((1 << position_bits) - 1)];
  }
}

template <int count = 1, class K, class V>
HWY_INLINE void merge_by_size(K const* a, V const* av, std::int64_t na, K const* b, V const* bv,
                              std::int64_t nb, K* out, V* outv) {
  constexpr int lanes = lanes_of<std::int64_t>;
  if constexpr (count * lanes < merge_limit)
    if (na + nb > count * lanes)
      return merge_by_size<2 * count>(a, av, na, b, bv, nb, out, outv);
  merge_network<count>(a, av, na, b, bv, nb, out, outv);
}

/// The same with values. Stable: of equal keys those of a come first.
template <class K, class V, class O>
void merge(std::int64_t lists, O const* a_ptr, K const* a, V const* av, O const* b_ptr, K const* b,
           V const* bv, K* out, V* outv) {
  for (std::int64_t p = 0; p < lists; ++p) {
    std::int64_t const na = a_ptr[p + 1] - a_ptr[p];
    std::int64_t const nb = b_ptr[p + 1] - b_ptr[p];
    std::int64_t const n = na + nb;
    K const* const pa = a + a_ptr[p];
    K const* const pb = b + b_ptr[p];
    V const* const va = av + a_ptr[p];
    V const* const vb = bv + b_ptr[p];
    bool const packs =
        (na == 0 || can_pack(pa[0], pa[na - 1])) && (nb == 0 || can_pack(pb[0], pb[nb - 1]));
    if (n > merge_limit || !packs)
      serial_merge(pa, va, na, pb, vb, nb, out, outv);
    else
      merge_by_size(pa, va, na, pb, vb, nb, out, outv);
    out += n;
    outv += n;
  }
}

} // namespace
} // namespace tulle::simd::TULLE_ISA
