// SPDX-License-Identifier: Apache-2.0

// Rows of C with at most listed_products products, by an accumulator as wide as B:
//
//   expand   the rows of B are copied one after another, columns and products
//   add      sum[j] += product; a column whose sum was -0 until then is appended to a list
//   sort     the list, in registers
//   gather   val = sum[j], which becomes -0 for the next row
//
// A sum may become -0 by itself, and its column is then appended again; such columns are taken out
// of the sorted list.
#pragma once
#include "cpu/spgemm/few.hpp"
#include "cpu/spgemm/scatter.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

/// Whether v is nothing<V>().
template <class V>
HWY_INLINE bool is_nothing(V v) {
  if constexpr (is_pair<V>) {
    return is_nothing(v.re) & is_nothing(v.im);
  } else {
    using bits = hwy::MakeUnsigned<V>;
    return __builtin_bit_cast(bits, v) == __builtin_bit_cast(bits, nothing<V>());
  }
}

/// Sorts n of the listed_products keys at p, which is aligned; the others become greatest keys.
template <int count = 1, class K>
HWY_INLINE void sort_listed(K* p, i64 n) {
  constexpr int lanes = lanes_of<K>;
  if constexpr (count * lanes < listed_products) {
    if (n > count * lanes)
      return sort_listed<2 * count>(p, n);
  }
  if constexpr (count > registers) {
    sort_padded(p, n);
  } else {
    hn::ScalableTag<K> const d;
    auto const end = hn::Set(d, static_cast<K>(n));
    hn::Vec<decltype(d)> v[count];
#pragma GCC unroll 8
    for (int q = 0; q < count; ++q)
      v[q] = hn::IfThenElse(hn::Lt(hn::Load(d, lane_numbers<K>.of + q * lanes), end),
                            hn::Load(d, p + q * lanes), hn::Set(d, greatest_key<K>));
    sort_registers<count>(d, v);
#pragma GCC unroll 8
    for (int q = 0; q < count; ++q)
      hn::Store(v[q], d, p + q * lanes);
  }
}

template <class V, class I, class O>
struct listed_row {
  using scratch = scatter_scratch<V, I>;

  /// All products of row i, in order. Returns how many.
  template <class C>
  static HWY_INLINE i64 expand(C const& c, i64 i, scratch const& s) {
    using word = hwy::MakeUnsigned<I>;
    hn::CappedTag<word, copied_at_once> const d;
    constexpr int step = static_cast<int>(hn::MaxLanes(d));
    O const* const ptr = c.b.ptr;
    I const *const a_col = c.a.col, *const b_col = c.b.col;
    V const *const a_val = c.a_val, *const b_val = c.b_val;
    O const* const first = static_cast<O const*>(c.t.first);
    i64 const whole = static_cast<i64>(c.b.nnz) - copied_at_once;
    bool const fetches = c.is_large_b();
    I* const to_col = s.col;
    V* const to_val = s.product;
    i64 n = 0;
    for (i64 k = c.a.begin(i), end = c.a.begin(i + 1); k < end; ++k) {
      if (fetches)
        c.template prefetch<true>(b_val, k);
      auto const j = static_cast<std::size_t>(a_col[k]);
      i64 const from = static_cast<i64>(first ? first[k] : ptr[j]),
                to = static_cast<i64>(ptr[j + 1]), length = to - from;
      V const factor = a_val[k];
      if (HWY_UNLIKELY(to > whole)) { // nothing may be read after the last row
        for (i64 p = 0; p < length; ++p) {
          to_col[n + p] = b_col[from + p];
          to_val[n + p] = times(factor, b_val[from + p]);
        }
      } else {
        for (i64 p = 0; p < length; p += copied_at_once) { // the next row is written over the rest
          for (int q = 0; q < copied_at_once; q += step)
            hn::StoreU(hn::LoadU(d, reinterpret_cast<word const*>(b_col) + from + p + q), d,
                       reinterpret_cast<word*>(to_col) + n + p + q);
          scatter_row<V, I, O>::multiply(factor, b_val + from + p, to_val + n + p);
        }
      }
      n += length;
    }
    return n;
  }

  /// Columns and values of row i. Unless it is exact, there is room for kept_padding columns more.
  template <class C>
  static HWY_NOINLINE i64 fill(C const& c, i64 i, scratch const& s, row_out<V, I> out, bool exact) {
    HWY_ALIGN I list[listed_products];
    i64 const n = expand(c, i, s);
    V* const __restrict sum = s.sum;
    I const* const __restrict col = s.col;
    V const* const __restrict product = s.product;
    i64 m = 0;
    for (i64 p = 0; p < n; ++p) {
      auto const j = static_cast<std::size_t>(col[p]);
      V const before = sum[j];
      sum[j] = before + product[p];
      list[m] = static_cast<I>(j);
      m += is_nothing(before);
    }
    sort_listed(list, m);
    I same = 0;
    for (i64 q = 1; q < m; ++q)
      same |= list[q] == list[q - 1];
    if (HWY_UNLIKELY(same != 0))
      m = without_repeats(list, m);
    if (exact) {
      std::memcpy(out.col, list, static_cast<std::size_t>(m) * sizeof(I));
    } else {
      hn::ScalableTag<I> const d;
      for (i64 q = 0; q < m; q += lanes_of<I>)
        hn::StoreU(hn::Load(d, list + q), d, out.col + q);
    }
    scatter_row<V, I, O>::gather(s, list, m, out.val);
    return m;
  }

private:
  static HWY_NOINLINE i64 without_repeats(I* list, i64 m) {
    i64 to = 0;
    for (i64 q = 1; q < m; ++q)
      if (list[q] != list[to])
        list[++to] = list[q];
    return to + 1;
  }
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA
