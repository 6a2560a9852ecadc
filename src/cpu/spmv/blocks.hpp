// SPDX-License-Identifier: Apache-2.0

// Sums over the blocks of one block row, each times its part of x. A block's values lie row by row;
// a row is one or two vectors, times consecutive elements of x. `sum` of each struct here:
// out[0..height) = blocks [k, end) times x. Up to `reach` values of x are read from a block's first
// column on, and up to 7 values of val after the last block; values are prefetched `ahead` bytes
// ahead.
#pragma once
#include "cpu/spmv/block_parts.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int power_of_two_from(int n) {
  return n <= 1 ? 1 : n <= 2 ? 2 : n <= 4 ? 4 : 8;
}
template <class V>
constexpr int most_lanes = HWY_MAX_BYTES / sizeof(V) < side ? HWY_MAX_BYTES / sizeof(V) : side;

/// How n consecutive values are split into vectors: `full` of `lanes`, then one of `rest_lanes`
/// with `rest` values in it; its other lanes load what follows and are not used.
template <class V, int n>
struct row_of {
  static constexpr int lanes = most_lanes<V>;
  static constexpr int full = n / lanes;
  static constexpr int rest = n % lanes;
  static constexpr int rest_lanes = power_of_two_from(rest);
  static constexpr int reach = full * lanes + (rest ? rest_lanes : 0); // values that are loaded
  using full_tag = hn::FixedTag<V, lanes>;
  using rest_tag = hn::FixedTag<V, rest_lanes>;
};

/// Sums of one row of a block in two vectors, one of which may be missing.
template <class V, int W>
struct row_sum {
  using row = row_of<V, W>;
  typename row::full_tag static constexpr full_d{};
  typename row::rest_tag static constexpr rest_d{};
  hn::Vec<typename row::full_tag> full = hn::Zero(full_d);
  hn::Vec<typename row::rest_tag> rest = hn::Zero(rest_d);

  HWY_INLINE void add(row_sum const& other) {
    full = hn::Add(full, other.full);
    rest = hn::Add(rest, other.rest);
  }
  HWY_INLINE V total() const {
    V s{};
    if constexpr (row::full != 0)
      s = sum_of(full_d, full);
    if constexpr (row::rest != 0) {
      auto valid = rest;
      if constexpr (row::rest != row::rest_lanes)
        valid = hn::IfThenElseZero(hn::FirstN(rest_d, row::rest), rest);
      V const r = sum_of(rest_d, valid);
      s = row::full != 0 ? s + r : r;
    }
    return s;
  }
};

/// W values of x, loaded once for all rows of a block.
template <class V, int W>
struct x_of {
  using row = row_of<V, W>;
  hn::Vec<typename row::full_tag> full[row::full ? row::full : 1];
  hn::Vec<typename row::rest_tag> rest;

  HWY_INLINE explicit x_of(V const* x) {
    typename row::full_tag const d;
    for (int p = 0; p < row::full; ++p)
      full[p] = hn::LoadU(d, x + p * row::lanes);
    if constexpr (row::rest != 0)
      rest = hn::LoadU(typename row::rest_tag(), x + row::full * row::lanes);
  }
  HWY_INLINE void times(V const* v, row_sum<V, W>& s) const {
    typename row::full_tag const d;
    for (int p = 0; p < row::full; ++p)
      s.full = hn::MulAdd(hn::LoadU(d, v + p * row::lanes), full[p], s.full);
    if constexpr (row::rest != 0)
      s.rest =
          hn::MulAdd(hn::LoadU(typename row::rest_tag(), v + row::full * row::lanes), rest, s.rest);
  }
};

/// Blocks of H x W, both known to the compiler.
template <int H, int W, class V, class I>
struct blocks_of {
  static constexpr int reach = row_of<V, W>::reach;
  // Sums that do not wait for each other: H rows times so many blocks.
  static constexpr int unroll = H <= 2 ? 4 : H <= 4 ? 2 : 1;

  static HWY_INLINE void sum(V const* val, I const* col, V const* x, std::int64_t k,
                             std::int64_t end, int, std::int64_t ahead, V* out) {
    row_sum<V, W> s[unroll][H];
    V const* v = val + k * (H * W);
    for (; k + unroll <= end; k += unroll, v += unroll * H * W) {
      for (std::size_t line = 0; line < unroll * H * W * sizeof(V); line += 64)
        __builtin_prefetch(reinterpret_cast<char const*>(v) + ahead + line);
#pragma GCC unroll 4
      for (int u = 0; u < unroll; ++u) {
        x_of<V, W> const xs(x + static_cast<std::int64_t>(col[k + u]) * W);
#pragma GCC unroll 8
        for (int r = 0; r < H; ++r)
          xs.times(v + (u * H + r) * W, s[u][r]);
      }
    }
    for (; k < end; ++k, v += H * W) {
      x_of<V, W> const xs(x + static_cast<std::int64_t>(col[k]) * W);
#pragma GCC unroll 8
      for (int r = 0; r < H; ++r)
        xs.times(v + r * W, s[0][r]);
    }
#pragma GCC unroll 8
    for (int r = 0; r < H; ++r) {
#pragma GCC unroll 4
      for (int u = 1; u < unroll; ++u)
        s[0][r].add(s[u][r]);
      out[r] = s[0][r].total();
    }
  }
};

/// 2 x 2 where a block fills a vector: x is loaded twice, side by side.
template <class V, class I>
struct pairs_of {
  static constexpr int reach = 2;

  static HWY_INLINE hn::Vec<hn::FixedTag<V, 4>> twice(V const* x) {
    hn::FixedTag<V, 4> const d;
    if constexpr (sizeof(V) == 8) {
      return hn::LoadDup128(d, x);
    } else { // two floats as one double
      double both;
      std::memcpy(&both, x, sizeof(both));
      return hn::BitCast(d, hn::Set(hn::FixedTag<double, 2>(), both));
    }
  }
  static HWY_INLINE void sum(V const* val, I const* col, V const* x, std::int64_t k,
                             std::int64_t end, int, std::int64_t ahead, V* out) {
    hn::FixedTag<V, 4> const d;
    hn::Vec<decltype(d)> s[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
    V const* v = val + k * 4;
    for (; k + 4 <= end; k += 4, v += 16) {
      for (std::size_t line = 0; line < 16 * sizeof(V); line += 64)
        __builtin_prefetch(reinterpret_cast<char const*>(v) + ahead + line);
#pragma GCC unroll 4
      for (int u = 0; u < 4; ++u)
        s[u] = hn::MulAdd(hn::LoadU(d, v + 4 * u),
                          twice(x + static_cast<std::int64_t>(col[k + u]) * 2), s[u]);
    }
    for (; k < end; ++k, v += 4)
      s[0] = hn::MulAdd(hn::LoadU(d, v), twice(x + static_cast<std::int64_t>(col[k]) * 2), s[0]);
    V lanes[4];
    hn::StoreU(hn::Add(hn::Add(s[0], s[1]), hn::Add(s[2], s[3])), d, lanes);
    out[0] = lanes[0] + lanes[1];
    out[1] = lanes[2] + lanes[3];
  }
};

/// Any height: up to four rows at a time.
template <int W, class V, class I>
struct blocks_of<0, W, V, I> {
  static constexpr int reach = row_of<V, W>::reach;

  /// G rows of each of n blocks of `size` values, the first at v.
  template <int G>
  static HWY_NOINLINE void rows(V const* v, std::int64_t size, I const* col, V const* x,
                                std::int64_t n, std::int64_t ahead, V* out) {
    constexpr int unroll = G == 1 ? 4 : 2;
    row_sum<V, W> s[unroll][G];
    std::int64_t k = 0;
    for (; k + unroll <= n; k += unroll)
#pragma GCC unroll 4
      for (int u = 0; u < unroll; ++u, v += size) {
        for (std::size_t line = 0; line < G * W * sizeof(V); line += 64)
          __builtin_prefetch(reinterpret_cast<char const*>(v) + ahead + line);
        x_of<V, W> const xs(x + static_cast<std::int64_t>(col[k + u]) * W);
#pragma GCC unroll 4
        for (int r = 0; r < G; ++r)
          xs.times(v + r * W, s[u][r]);
      }
    for (; k < n; ++k, v += size) {
      x_of<V, W> const xs(x + static_cast<std::int64_t>(col[k]) * W);
#pragma GCC unroll 4
      for (int r = 0; r < G; ++r)
        xs.times(v + r * W, s[0][r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < G; ++r) {
#pragma GCC unroll 4
      for (int u = 1; u < unroll; ++u)
        s[0][r].add(s[u][r]);
      out[r] = s[0][r].total();
    }
  }
  static HWY_INLINE void sum(V const* val, I const* col, V const* x, std::int64_t k,
                             std::int64_t end, int h, std::int64_t ahead, V* out) {
    std::int64_t const size = static_cast<std::int64_t>(h) * W;
    for (int r = 0; r < h;) {
      int const left = h - r; // 5 is 3 and 2, 6 is 3 and 3
      int const g = left <= 4 ? left : (left + 1) / 2;
      V const* const v = val + k * size + r * W;
      if (g == 1)
        rows<1>(v, size, col + k, x, end - k, ahead, out + r);
      else if (g == 2)
        rows<2>(v, size, col + k, x, end - k, ahead, out + r);
      else if (g == 3)
        rows<3>(v, size, col + k, x, end - k, ahead, out + r);
      else
        rows<4>(v, size, col + k, x, end - k, ahead, out + r);
      r += g;
    }
  }
};

/// Blocks of one column, of a height up to N: a block is a vector, times one x.
template <int N, class V, class I>
struct columns_of {
  static constexpr int reach = 1;
  static constexpr int lanes = N < most_lanes<V> ? N : most_lanes<V>;
  static constexpr int pieces = N / lanes;
  static constexpr int unroll = pieces < 4 ? 4 / pieces : 1;

  static HWY_INLINE void sum(V const* val, I const* col, V const* x, std::int64_t k,
                             std::int64_t end, int h, std::int64_t ahead, V* out) {
    hn::FixedTag<V, lanes> const d;
    hn::Vec<decltype(d)> s[unroll][pieces];
    for (int u = 0; u < unroll; ++u)
      for (int p = 0; p < pieces; ++p)
        s[u][p] = hn::Zero(d);
    V const* v = val + k * h;
    for (; k + unroll <= end; k += unroll) {
      for (std::size_t line = 0; line < unroll * N * sizeof(V); line += 64)
        __builtin_prefetch(reinterpret_cast<char const*>(v) + ahead + line);
#pragma GCC unroll 4
      for (int u = 0; u < unroll; ++u, v += h) {
        auto const xs = hn::Set(d, x[col[k + u]]);
#pragma GCC unroll 4
        for (int p = 0; p < pieces; ++p)
          s[u][p] = hn::MulAdd(hn::LoadU(d, v + p * lanes), xs, s[u][p]);
      }
    }
    for (; k < end; ++k, v += h)
#pragma GCC unroll 4
      for (int p = 0; p < pieces; ++p)
        s[0][p] = hn::MulAdd(hn::LoadU(d, v + p * lanes), hn::Set(d, x[col[k]]), s[0][p]);
#pragma GCC unroll 4
    for (int p = 0; p < pieces; ++p) {
#pragma GCC unroll 4
      for (int u = 1; u < unroll; ++u)
        s[0][p] = hn::Add(s[0][p], s[u][p]);
      hn::StoreU(s[0][p], d, out + p * lanes);
    }
  }
};

} // namespace
} // namespace tulle::kernels::TULLE_ISA
