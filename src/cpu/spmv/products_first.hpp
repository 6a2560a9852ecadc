// SPDX-License-Identifier: Apache-2.0

// The loop over CSR rows of unequal lengths: the products of the whole block are stored in L1, then
// four rows at a time are summed under masks. No branch depends on the length of one row, so few
// are mispredicted. ns per entry on Zen 4, rows of 2 to 17 entries (delaunay_n16): 0.54, by a plain
// loop 1.38.
#pragma once
#include "cpu/spmv/row_loops.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int stored_products = 2048; // 16 KB of L1
// Next to a longer row than this, rows are summed one by one, so that short ones do not wait for
// it.
constexpr int longest_in_four = 64;

/// Lanes that add products.
template <class V>
using sum_tag = hn::CappedTag<V, 8>;

template <bool streaming, class V, class I>
HWY_INLINE void store_products(V const* val, I const* col, V const* x, std::int64_t k,
                               std::int64_t end, V* out) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  for (; k + 2 * lanes <= end; k += 2 * lanes, out += 2 * lanes) {
    if constexpr (streaming) {
      prefetch_lines(val + k, 2 * lanes, prefetch_bytes);
      prefetch_lines(col + k, 2 * lanes, prefetch_bytes / 2);
    }
    auto const p = hn::Mul(hn::LoadU(d, val + k), x_of<prefers_gather>(d, x, col + k));
    auto const q =
        hn::Mul(hn::LoadU(d, val + k + lanes), x_of<prefers_gather>(d, x, col + k + lanes));
    hn::Store(p, d, out);
    hn::Store(q, d, out + lanes);
  }
  for (; k < end; ++k)
    *out++ = val[k] * x[col[k]];
}

/// Halves added until four lanes are left.
template <class D>
HWY_INLINE auto four_of([[maybe_unused]] D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return v;
  } else {
    hn::Half<D> const half;
    return four_of(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

/// Rows [i, end), whose products lie in `product` from row i on. Tried and dropped: as many vectors
/// for all rows of a block, with the rest of longer rows added later (1.1 to 1.3 times as long);
/// the masks of AVX-512 (1.0 to 1.1 times as long on Zen 4).
template <class V, class I, class O>
HWY_INLINE void sum_products(row_block<V, I, O> const& b, int i, int end, V const* product) {
  sum_tag<V> const d;
  hn::FixedTag<V, 4> const four;
  using word = hwy::MakeSigned<V>;
  hn::Rebind<word, decltype(d)> const di;
  constexpr int lanes = hn::MaxLanes(d);
  product -= b.ptr[i];
  auto const one = [&](int r) HWY_ATTR {
    std::int64_t const n = b.length(r);
    V const* const v = product + b.ptr[r];
    auto s = hn::Zero(d);
    std::int64_t j = 0;
    for (; j + lanes <= n; j += lanes)
      s = hn::Add(s, hn::LoadU(d, v + j));
    return sum_of(d, hn::Add(s, first_lanes(d, hn::LoadU(d, v + j), n - j)));
  };
  for (; i + 4 <= end; i += 4) {
    O const* const p = b.ptr + i;
    V const *const v0 = product + p[0], *const v1 = product + p[1];
    V const *const v2 = product + p[2], *const v3 = product + p[3];
    word const n0 = static_cast<word>(p[1] - p[0]), n1 = static_cast<word>(p[2] - p[1]);
    word const n2 = static_cast<word>(p[3] - p[2]), n3 = static_cast<word>(p[4] - p[3]);
    word const n01 = n0 > n1 ? n0 : n1, n23 = n2 > n3 ? n2 : n3, most = n01 > n23 ? n01 : n23;
    if (most > longest_in_four) {
      for (int r = i; r < i + 4; ++r)
        b.store(r, one(r));
      continue;
    }
    auto const m0 = hn::Set(di, n0), m1 = hn::Set(di, n1);
    auto const m2 = hn::Set(di, n2), m3 = hn::Set(di, n3);
    auto const part = [&](V const* v, auto n, auto at) HWY_ATTR {
      return hn::IfThenElseZero(hn::RebindMask(d, hn::Gt(n, at)), hn::LoadU(d, v));
    };
    auto at = hn::Iota(di, 0);
    auto s0 = part(v0, m0, at), s1 = part(v1, m1, at);
    auto s2 = part(v2, m2, at), s3 = part(v3, m3, at);
    for (word j = lanes; j < most; j += lanes) {
      at = hn::Add(at, hn::Set(di, lanes));
      s0 = hn::Add(s0, part(v0 + j, m0, at));
      s1 = hn::Add(s1, part(v1 + j, m1, at));
      s2 = hn::Add(s2, part(v2 + j, m2, at));
      s3 = hn::Add(s3, part(v3 + j, m3, at));
    }
    b.store_four(i, sums_of(four, four_of(d, s0), four_of(d, s1), four_of(d, s2), four_of(d, s3)));
  }
  for (; i < end; ++i)
    b.store(i, one(i));
}

/// Products of as many rows as fit are stored before any of them is summed.
template <bool streaming, class V, class I, class O>
HWY_NOINLINE void products_first(row_block<V, I, O> const& b) {
  HWY_ALIGN V product[stored_products + longest_in_four + HWY_MAX_BYTES / sizeof(V)];
  for (int i = 0; i < b.rows;) {
    std::int64_t const k = b.ptr[i];
    int end = b.rows;
    if (static_cast<std::int64_t>(b.ptr[end]) - k > stored_products)
      for (end = i; static_cast<std::int64_t>(b.ptr[end + 1]) - k <= stored_products;)
        ++end;
    if (end == i) { // a row that does not fit
      b.store(i, wide_sum<streaming>(b.val, b.col, b.x, k, b.ptr[i + 1], b.nnz, false));
      ++i;
      continue;
    }
    store_products<streaming>(b.val, b.col, b.x, k, b.ptr[end], product);
    sum_products(b, i, end, product);
    i = end;
  }
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
