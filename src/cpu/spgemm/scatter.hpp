// SPDX-License-Identifier: Apache-2.0

// Rows of C by an accumulator as wide as B, in four loops in which no branch depends on a column:
//
//   expand   the short rows of B are copied one after another, columns and products
//   scatter  sum[j] += product, flag[j] = 1, block[j / 64] = 1 for each of them
//   take     the columns in ascending order: of the blocks that are set, the flags that are set
//   gather   val = sum[j]
//
// Taking and gathering leave flags 0 and sums -0 for the next row. Blocks are read where a group of
// columns, of which there are at most 32, has any product.
#pragma once
#include "cpu/spgemm/dense.hpp"
#include "cpu/spgemm/lists.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr i64 expanded = 1024;     // products at a time
constexpr i64 longest_copied = 48; // longer rows of B are scattered from where they are
constexpr i64 copied_at_once = 8;
constexpr int group_bits_least = 12;

HWY_INLINE int group_bits_of(i64 cols) {
  int bits = group_bits_least;
  while (cols >> bits >= 32)
    ++bits;
  return bits;
}

/// Scratch of these rows, which use the flags and sums of dense rows, too. Blocks are 0 between
/// rows.
template <class V, class I>
struct scatter_scratch {
  std::uint8_t* flag;
  V* sum;
  std::uint8_t* block;
  I* col;
  V* product;
  int group_bits;

  static constexpr auto buffered = static_cast<std::size_t>(expanded + copied_at_once);
  static bool has(spgemm_task const& t) {
    for (row_kind const k : {row_kind::few, row_kind::listed, row_kind::scatter})
      if (t.all.rows[static_cast<int>(k)] > 0)
        return true;
    return false;
  }
  static std::size_t block_bytes(i64 cols) { return std::size_t{32} << (group_bits_of(cols) - 6); }
  static std::size_t bytes(spgemm_task const& t, i64 cols) {
    return has(t) ? in_lines(block_bytes(cols)) + in_lines(buffered * sizeof(V)) +
                        in_lines(buffered * sizeof(I))
                  : 0;
  }
  scatter_scratch(i64 cols, dense_scratch<V> const& dense, std::byte* at)
      : flag(dense.flag), sum(dense.sum), block(reinterpret_cast<std::uint8_t*>(at)),
        group_bits(group_bits_of(cols)) {
    at += in_lines(block_bytes(cols));
    product = reinterpret_cast<V*>(at);
    col = reinterpret_cast<I*>(at + in_lines(buffered * sizeof(V)));
  }
  void clear(spgemm_task const& t, i64 cols) const {
    if (has(t))
      std::memset(block, 0, block_bytes(cols));
  }
};

/// One bit for each of 64 bytes that is not 0; they become 0.
HWY_INLINE std::uint64_t take_bytes(std::uint8_t* p) {
  hn::ScalableTag<std::uint8_t> const d;
  constexpr int lanes = HWY_MAX_BYTES;
  auto const zero = hn::Zero(d);
  std::uint64_t bits = 0;
  for (int at = 0; at < 64; at += lanes) {
    std::uint64_t some = 0;
    hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, p + at), zero),
                      reinterpret_cast<std::uint8_t*>(&some));
    bits |= some << (at % 64);
  }
  if (bits)
    for (int at = 0; at < 64; at += lanes)
      hn::StoreU(zero, d, p + at);
  return bits;
}

HWY_INLINE int first_bit(std::uint64_t bits) {
#ifdef __BMI__
  return static_cast<int>(__builtin_ia32_tzcnt_u64(bits)); // 64 where there is none
#else
  return __builtin_ctzll(bits | std::uint64_t{1} << 63);
#endif
}

template <class V, class I, class O>
struct scatter_row {
  using operands = product_pattern<I, O>;
  using scratch = scatter_scratch<V, I>;

  /// n products in a row; made: val holds products, else they are factor * val.
  template <bool values, bool marks, bool made>
  static HWY_INLINE void scatter(scratch const& s, I const* __restrict col, V const* __restrict val,
                                 V factor, i64 n) {
    V* const __restrict sum = s.sum;
    // Local pointers: a store of a byte may change any member, as far as the compiler knows.
    std::uint8_t* const __restrict flag = s.flag;
    std::uint8_t* const __restrict block = s.block;
    for (i64 p = 0; p < n; ++p) {
      auto const j = static_cast<std::size_t>(col[p]);
      if constexpr (values) {
        if constexpr (made)
          sum[j] = sum[j] + val[p];
        else
          sum[j] = sum[j] + times(factor, val[p]);
      }
      if constexpr (marks) {
        flag[j] = 1;
        block[j / 64] = 1;
      }
    }
  }

  /// copied_at_once products.
  static HWY_INLINE void multiply(V factor, V const* val, V* to) {
    if constexpr (is_pair<V>) {
      for (int q = 0; q < copied_at_once; ++q)
        to[q] = times(factor, val[q]);
    } else {
      hn::CappedTag<V, copied_at_once> const d;
      auto const f = hn::Set(d, factor);
      for (int q = 0; q < copied_at_once; q += static_cast<int>(hn::Lanes(d)))
        hn::StoreU(hn::Mul(f, hn::LoadU(d, val + q)), d, to + q);
    }
  }

  /// All products of row i, in order. Returns the groups of columns that they fall on.
  template <bool values, bool marks>
  static HWY_INLINE std::uint32_t walk(operands const& c, V const* a_val, V const* b_val, i64 i,
                                       scratch const& s) {
    using word = hwy::MakeUnsigned<I>;
    hn::CappedTag<word, copied_at_once> const d;
    constexpr int lanes =
        HWY_MAX_BYTES / sizeof(I) < copied_at_once ? HWY_MAX_BYTES / sizeof(I) : copied_at_once;
    auto const one = hn::Set(d, 1);
    auto seen = hn::Zero(d);
    std::uint32_t groups = 0;
    auto const a = c.a, b = c.b; // copies: stores may change what they are of, for the compiler
    O const* const first = static_cast<O const*>(c.t.first);
    int const group_bits = s.group_bits;
    bool const fetches = c.is_large_b();
    i64 const nnz = static_cast<i64>(b.nnz);
    I* const buffer = s.col;
    V* const products = s.product;
    i64 n = 0;
    for (i64 k = a.begin(i), end = a.begin(i + 1); k < end; ++k) {
      if (fetches)
        c.template prefetch<values>(b_val, k);
      i64 const j = static_cast<i64>(a.col[k]),
                from = first ? static_cast<i64>(first[k]) : b.begin(j),
                length = b.begin(j + 1) - from;
      V const factor = values ? a_val[k] : V{};
      bool const in_place = length > longest_copied;
      if (in_place || n + length > expanded) {
        scatter<values, marks, true>(s, buffer, products, V{}, n);
        n = 0;
      }
      I const* const col = b.col + from;
      V const* const val = b_val + from;
      if (in_place) {
        if constexpr (marks) { // those between its first and its last group, too
          int const lo = static_cast<int>(static_cast<i64>(col[0]) >> group_bits),
                    hi = static_cast<int>(static_cast<i64>(col[length - 1]) >> group_bits);
          groups |= ((std::uint32_t{2} << (hi - lo)) - 1) << lo;
        }
        scatter<values, marks, false>(s, col, val, factor, length);
        continue;
      }
      if (from + length + copied_at_once > nnz) { // nothing may be read after the last row
        for (i64 p = 0; p < length; ++p) {
          buffer[n + p] = col[p];
          if constexpr (values)
            products[n + p] = times(factor, val[p]);
          if constexpr (marks)
            groups |= std::uint32_t{1} << (static_cast<i64>(col[p]) >> group_bits);
        }
      } else { // whole vectors: the next row is written over what is too much
        for (i64 p = 0; p < length; p += copied_at_once) {
          for (int q = 0; q < copied_at_once; q += lanes) {
            auto const v = hn::LoadU(d, reinterpret_cast<word const*>(col) + p + q);
            hn::StoreU(v, d, reinterpret_cast<word*>(buffer) + n + p + q);
            if constexpr (marks)
              seen = hn::Or(seen, hn::Shl(one, hn::ShiftRightSame(v, group_bits)));
          }
          if constexpr (values)
            multiply(factor, val + p, products + n + p);
        }
      }
      n += length;
    }
    scatter<values, marks, true>(s, buffer, products, V{}, n);
    if constexpr (marks) {
      HWY_ALIGN word each[lanes];
      hn::Store(seen, d, each);
      for (int q = 0; q < lanes; ++q)
        groups |= static_cast<std::uint32_t>(each[q]);
    }
    return groups;
  }

  /// Calls f(first column, bits) for each block of 64 columns with a flag, and clears it.
  template <class F>
  static HWY_INLINE void take(scratch const& s, std::uint32_t groups, F f) {
    i64 const blocks = i64{1} << (s.group_bits - 6);
    for (; groups; groups &= groups - 1) {
      i64 const first = __builtin_ctz(groups) * blocks;
      for (i64 at = first; at < first + blocks; at += 64)
        for (std::uint64_t some = take_bytes(s.block + at); some; some &= some - 1) {
          i64 const j = (at + __builtin_ctzll(some)) * 64;
          f(j, take_bytes(s.flag + j));
        }
    }
  }

  static i64 count(operands const& c, i64 i, scratch const& s) {
    i64 n = 0;
    take(s, walk<false, true>(c, nullptr, nullptr, i, s),
         [&](i64, std::uint64_t bits) HWY_ATTR { n += __builtin_popcountll(bits); });
    return n;
  }

  /// Columns and values of row i. Unless it is exact, there is room for seven columns more.
  template <class C>
  static HWY_NOINLINE i64 fill(C const& c, i64 i, scratch const& s, row_out<V, I> out, bool exact) {
    I* to = out.col;
    std::uint32_t const groups = walk<true, true>(c, c.a_val, c.b_val, i, s);
    take(s, groups, [&](i64 first, std::uint64_t bits) HWY_ATTR {
      I* at = to;
      to += __builtin_popcountll(bits);
      if (exact) {
        for (; at < to; bits &= bits - 1)
          *at++ = static_cast<I>(first + first_bit(bits));
        return;
      }
      do { // by eights, or the loop's end would be mispredicted
#pragma GCC unroll 8
        for (int q = 0; q < 8; ++q, bits &= bits - 1)
          at[q] = static_cast<I>(first + first_bit(bits));
        at += 8;
      } while (at < to);
    });
    i64 const n = to - out.col;
    gather(s, out.col, n, out.val);
    return n;
  }

  static HWY_INLINE void gather(scratch const& s, I const* __restrict col, i64 n,
                                V* __restrict val) {
    V* const __restrict sum = s.sum;
    for (i64 q = 0; q < n; ++q) {
      auto const j = static_cast<std::size_t>(col[q]);
      val[q] = sum[j];
      sum[j] = nothing<V>();
    }
  }

  /// Values of row i, whose n columns are known.
  template <class C>
  static HWY_NOINLINE void refill(C const& c, i64 i, scratch const& s, row_out<V, I> out, i64 n) {
    walk<true, false>(c, c.a_val, c.b_val, i, s);
    gather(s, out.col, n, out.val);
  }
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA
