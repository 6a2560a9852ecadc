// SPDX-License-Identifier: Apache-2.0

// Loops over a block of CSR rows, one for each kind of block in row_blocks.hpp.
//
// A misprediction costs as much as 16 entries, so branches on the length of each row are few: the
// last entries of a long row are multiplied together with those of the next row, which are masked
// away. What a plan knows of the columns makes a loop faster and leaves the order of its additions
// as it is.
#pragma once
#include "cpu/spmv/row_dot.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int block_rows = 128; // 64 and 256: within 5 % on ten real matrices

/// How the columns of rows are related, as far as a plan knows.
enum class relation : std::uint8_t {
  none,
  same, ///< rows have the columns of the row before: several unknowns per point, dense blocks
  next, ///< those plus one: stencils
  run,  ///< the columns of each row follow one another
};

/// Rows of A and y that one loop works on. Loops over single rows take a copy: for all the compiler
/// knows a store to y might change alpha in what others see too (1.1 times as long).
template <class V, class I, class O>
struct row_block {
  O const* ptr; // of its first row
  int rows;
  I const* col; // of the whole matrix, as val
  V const* val;
  std::int64_t nnz;
  V const* x;
  V* y; // of its first row
  V alpha, beta;
  bool overwrite; // beta is 0
  relation how = relation::none;
  std::uint64_t related[block_rows / 64] = {}; // bit i: row i to the row before, by `how`

  HWY_INLINE std::int64_t length(int i) const {
    return static_cast<std::int64_t>(ptr[i + 1]) - static_cast<std::int64_t>(ptr[i]);
  }
  HWY_INLINE bool is_related(int i) const { return related[i / 64] >> i % 64 & 1; }
  HWY_INLINE void store(int i, V sum) const { update(y + i, alpha, sum, beta, overwrite); }
  /// Whether n rows from i on, none of them in another word than row i, all follow.
  HWY_INLINE bool follow(int i, int n) const {
    return (~(related[i / 64] >> i % 64) & ((1u << n) - 1)) == 0;
  }
  /// The sums of rows i and after, one per lane.
  template <class D>
  HWY_INLINE void store_all(D d, int i, hn::Vec<D> s) const {
    auto const a = hn::Set(d, alpha);
    hn::StoreU(overwrite ? hn::Mul(a, s)
                         : hn::MulAdd(a, s, hn::Mul(hn::Set(d, beta), hn::LoadU(d, y + i))),
               d, y + i);
  }
  template <class Sums>
  HWY_INLINE void store_four(int i, Sums s) const {
    store_all(hn::FixedTag<V, 4>(), i, s);
  }
};

template <class T>
HWY_INLINE void prefetch_lines(T const* from, std::int64_t n, int ahead) {
  for (std::int64_t at = 0; at < n * static_cast<std::int64_t>(sizeof(T)); at += 64)
    __builtin_prefetch(reinterpret_cast<char const*>(from) + ahead + at);
}

/// v with lanes from n on zero.
template <class D>
HWY_INLINE hn::Vec<D> first_lanes(D d, hn::Vec<D> v, std::int64_t n) {
  hn::Rebind<hwy::MakeSigned<hn::TFromD<D>>, D> const di;
  auto const in = hn::Lt(hn::Iota(di, 0), hn::Set(di, static_cast<hn::TFromD<decltype(di)>>(n)));
  return hn::IfThenElseZero(hn::RebindMask(d, in), v);
}

/// x[index[0..lanes)].
template <bool by_gather, class D, class V, class I>
HWY_INLINE hn::Vec<D> x_of(D d, V const* x, I const* index) {
  if constexpr (by_gather)
    return gather(d, x, index);
  else
    return gather_loads(d, x, index);
}

template <class V, class I>
HWY_INLINE V short_sum(V const* val, I const* col, V const* x, std::int64_t k, std::int64_t end) {
  V sum{};
  for (; k < end; ++k)
    sum = mul_add(val[k], x[col[k]], sum);
  return sum;
}

/// How the entries of a row are read: where columns follow one another col is not, and other rows'
/// columns are not fetched ahead.
enum class reading { loads, gathers, run };

/// The sum of the entries [k, end) of one row, in lanes: vectors in turn to two sums, then the last
/// one, whole or not, under a mask. With a mask for what whole vectors leave, also nothing, rows of
/// 4 to 16 entries took 1.05 to 1.15 times as long.
template <bool streaming, reading how, class D, class V, class I>
HWY_INLINE hn::Vec<D> lane_sums_of(D d, V const* val, I const* col, V const* x, std::int64_t k,
                                   std::int64_t end, std::int64_t nnz) {
  constexpr int lanes = hn::MaxLanes(D());
  V const* const from = how == reading::run && k < end ? x + (col[k] - k) : x;
  auto const gathered = [&](std::int64_t at) HWY_ATTR {
    if constexpr (how == reading::run)
      return hn::LoadU(d, from + at);
    else
      return x_of<how == reading::gathers>(d, x, col + at);
  };
  auto s = hn::Zero(d);
  auto t = hn::Zero(d);
  for (; k + 2 * lanes < end; k += 2 * lanes) {
    if constexpr (streaming) {
      prefetch_lines(val + k, 2 * lanes, prefetch_bytes);
      if constexpr (how != reading::run)
        prefetch_lines(col + k, 2 * lanes, prefetch_bytes / 2);
    }
    s = hn::MulAdd(hn::LoadU(d, val + k), gathered(k), s);
    t = hn::MulAdd(hn::LoadU(d, val + k + lanes), gathered(k + lanes), t);
  }
  if (k + lanes < end) {
    s = hn::MulAdd(hn::LoadU(d, val + k), gathered(k), s);
    k += lanes;
  }
  s = hn::Add(s, t);
  if (k + lanes > nnz) // the arrays end with the row
    return hn::Add(s, first_lanes(d, hn::Set(d, short_sum(val, col, x, k, end)), 1));
  if constexpr (how == reading::run) { // x may end with it
    if (k + lanes == end)
      return hn::Add(s, hn::Mul(hn::LoadU(d, val + k), gathered(k)));
    HWY_ALIGN V rest[lanes] = {};
    for (int j = 0; k + j < end; ++j)
      rest[j] = val[k + j] * from[k + j];
    return hn::Add(s, hn::Load(d, rest));
  }
  return hn::Add(s, first_lanes(d, hn::Mul(hn::LoadU(d, val + k), gathered(k)), end - k));
}

/// Lanes of long rows: four, with more of which a row's last vector is mostly empty; all in wide
/// rows.
template <class V>
using long_tag = hn::CappedTag<V, 4>;
template <class V>
using wide_tag = hn::ScalableTag<V>;

/// A row of many entries, or a piece of one.
template <bool streaming, class V, class I>
HWY_NOINLINE V wide_sum(V const* val, I const* col, V const* x, std::int64_t k, std::int64_t end,
                        std::int64_t nnz, bool run) {
  if constexpr (is_pair<V>) {
    return short_sum(val, col, x, k, end);
  } else {
    wide_tag<V> const d;
    if (run)
      return sum_of(d, lane_sums_of<streaming, reading::run>(d, val, col, x, k, end, nnz));
    bool const far = end - k >= far_entries && static_cast<std::int64_t>(col[end - 1] - col[k]) *
                                                       static_cast<std::int64_t>(sizeof(V)) >
                                                   far_bytes * (end - k);
    if (prefers_gather || far)
      return sum_of(d, lane_sums_of<streaming, reading::gathers>(d, val, col, x, k, end, nnz));
    return sum_of(d, lane_sums_of<streaming, reading::loads>(d, val, col, x, k, end, nnz));
  }
}

template <class V, class I, class O>
HWY_NOINLINE void plain_rows(row_block<V, I, O> const b) {
  std::int64_t k = b.ptr[0];
  for (int i = 0; i < b.rows; ++i) {
    std::int64_t const end = b.ptr[i + 1];
    b.store(i, short_sum(b.val, b.col, b.x, k, end));
    k = end;
  }
}

template <bool streaming, class V, class I, class O>
HWY_NOINLINE void wide_rows(row_block<V, I, O> const b) {
  bool const run = b.how == relation::run;
  for (int i = 0; i < b.rows; ++i)
    b.store(i, wide_sum<streaming>(b.val, b.col, b.x, b.ptr[i], b.ptr[i + 1], b.nnz, run));
}

/// The lane r of sums_of() that has a vector of four as its r-th.
template <class D>
HWY_INLINE hn::TFromD<D> sum_of_four([[maybe_unused]] D d, hn::Vec<D> s) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    hn::Half<D> const half;
    s = hn::Add(s, hn::Shuffle01(s));
    return hn::GetLane(hn::Add(hn::LowerHalf(half, s), hn::UpperHalf(half, s)));
  } else {
    s = hn::Add(s, hn::Shuffle1032(s));
    return hn::GetLane(hn::Add(s, hn::Shuffle2301(s)));
  }
}
template <bool wide, class D>
HWY_INLINE hn::TFromD<D> total_of(D d, hn::Vec<D> s) {
  if constexpr (wide)
    return sum_of(d, s);
  else
    return sum_of_four(d, s);
}

template <bool streaming, class V, class I, class O>
HWY_INLINE V long_sum(row_block<V, I, O> const& b, std::int64_t k, std::int64_t end) {
  long_tag<V> const d;
  return sum_of_four(d,
                     lane_sums_of<streaming, reading::loads>(d, b.val, b.col, b.x, k, end, b.nnz));
}

template <bool streaming, class V, class I, class O>
HWY_NOINLINE void long_rows(row_block<V, I, O> const b) {
  std::int64_t k = b.ptr[0];
  for (int i = 0; i < b.rows; ++i) {
    std::int64_t const end = b.ptr[i + 1];
    b.store(i, long_sum<streaming>(b, k, end));
    k = end;
  }
}

/// g rows with the columns of the first: x is read once for all.
template <int g, bool streaming, bool wide, class D, class V, class I, class O>
HWY_INLINE void same_group(D d, row_block<V, I, O> const& b, int i) {
  constexpr int lanes = hn::MaxLanes(D());
  constexpr bool gathers = prefers_gather && wide;
  std::int64_t const n = b.length(i);
  V const* const val = b.val + b.ptr[i];
  I const* const col = b.col + b.ptr[i];
  auto const zero = hn::Zero(d);
  hn::Vec<D> s[4] = {zero, zero, zero, zero}, t[4] = {zero, zero, zero, zero};
  std::int64_t j = 0;
  for (; j + 2 * lanes < n; j += 2 * lanes) {
    if constexpr (streaming) {
      prefetch_lines(val + g * j, g * 2 * lanes, prefetch_bytes);
      prefetch_lines(col + j, 2 * lanes, prefetch_bytes / 2);
    }
    auto const x0 = x_of<gathers>(d, b.x, col + j), x1 = x_of<gathers>(d, b.x, col + j + lanes);
    for (int r = 0; r < g; ++r) {
      s[r] = hn::MulAdd(hn::LoadU(d, val + r * n + j), x0, s[r]);
      t[r] = hn::MulAdd(hn::LoadU(d, val + r * n + j + lanes), x1, t[r]);
    }
  }
  if (j + lanes < n) {
    auto const x0 = x_of<gathers>(d, b.x, col + j);
    for (int r = 0; r < g; ++r)
      s[r] = hn::MulAdd(hn::LoadU(d, val + r * n + j), x0, s[r]);
    j += lanes;
  }
  auto const x0 = x_of<gathers>(d, b.x, col + j);
  for (int r = 0; r < g; ++r) {
    auto const rest = first_lanes(d, hn::Mul(hn::LoadU(d, val + r * n + j), x0), n - j);
    s[r] = hn::Add(hn::Add(s[r], t[r]), rest);
  }
  for (int r = 0; r < g; ++r)
    b.store(i + r, total_of<wide>(d, s[r]));
}

/// Long or wide rows, of which many have the columns of the row before.
template <bool streaming, bool wide, class D, class V, class I, class O>
HWY_NOINLINE void same_rows(D d, row_block<V, I, O> const b) {
  constexpr int lanes = hn::MaxLanes(D());
  for (int i = 0; i < b.rows;) {
    int g = 1;
    while (g < 4 && i + g < b.rows && b.is_related(i + g))
      ++g;
    if (static_cast<std::int64_t>(b.ptr[i + g]) + lanes > b.nnz)
      g = 1;
    if (g == 4)
      same_group<4, streaming, wide>(d, b, i);
    else if (g == 3)
      same_group<3, streaming, wide>(d, b, i);
    else if (g == 2)
      same_group<2, streaming, wide>(d, b, i);
    else if constexpr (wide)
      b.store(i, wide_sum<streaming>(b.val, b.col, b.x, b.ptr[i], b.ptr[i + 1], b.nnz, false));
    else
      b.store(i, long_sum<streaming>(b, b.ptr[i], b.ptr[i + 1]));
    i += g;
  }
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
