// SPDX-License-Identifier: Apache-2.0

// Adds columns of entries, one entry per row, to the sums of many rows: ell, hyb and the jds
// family.
#pragma once
#include "kernel/simd.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Rows of a strip: long enough for the hardware prefetcher to see streams, short enough for the
// sums to stay in L1. ms on poisson3d27:60 and fem:60000, one thread, busy machine: all columns
// with the sums in registers 8.5, 8.2; strips of 256 5.2, 4.9; 1024 4.1, 4.2; 2048 3.7, 3.9; 8192
// 4.3, 4.2.
constexpr std::int64_t strip_rows = 2048;
// Columns added to the sums in one pass. 2: 1.1 to 1.4 times as long.
constexpr int columns_at_once = 4;
// Prefetch distance in each column; 0 where entries come from the caches. Prefetching the same rows
// of the next columns instead: 1.1 times as long; 128, 256: no faster.
constexpr int rows_ahead = 64;

/// Adds `columns` columns, column j from from[j] on, to the sums of n rows, a multiple of two
/// vectors.
template <int columns, class V, class I>
HWY_NOINLINE void add_known_columns(V const* v, I const* c, std::int64_t const* from, V const* x,
                                    std::int64_t n, V* sum, std::int64_t ahead) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  auto const gathered = [&](I const* index) HWY_ATTR {
    if constexpr (prefers_gather)
      return gather(d, x, index);
    else
      return gather_loads(d, x, index);
  };
  std::int64_t begin[columns]; // a copy: stores to sum might change from
  for (int j = 0; j < columns; ++j)
    begin[j] = from[j];
  for (std::int64_t r = 0; r < n; r += 2 * lanes) {
    auto s = hn::LoadU(d, sum + r);
    auto t = hn::LoadU(d, sum + r + lanes);
    for (int j = 0; j < columns; ++j) {
      std::int64_t const at = begin[j] + r;
      if (ahead != 0) {
        for (std::size_t line = 0; line < 2 * HWY_MAX_BYTES; line += 64)
          __builtin_prefetch(reinterpret_cast<char const*>(v + at + ahead) + line);
        for (std::size_t line = 0; line < 2 * lanes * sizeof(I); line += 64)
          __builtin_prefetch(reinterpret_cast<char const*>(c + at + ahead) + line);
      }
      s = hn::MulAdd(hn::LoadU(d, v + at), gathered(c + at), s);
      t = hn::MulAdd(hn::LoadU(d, v + at + lanes), gathered(c + at + lanes), t);
    }
    hn::StoreU(s, d, sum + r);
    hn::StoreU(t, d, sum + r + lanes);
  }
}

/// The same for up to columns_at_once columns.
template <class V, class I>
HWY_INLINE void add_columns(int columns, V const* v, I const* c, std::int64_t const* from,
                            V const* x, std::int64_t n, V* sum, std::int64_t ahead) {
  switch (columns) {
#define TULLE_COLUMNS(k)                                                                           \
  case k:                                                                                          \
    add_known_columns<k>(v, c, from, x, n, sum, ahead);                                            \
    break;
    TULLE_COLUMNS(1)
    TULLE_COLUMNS(2)
    TULLE_COLUMNS(3)
    TULLE_COLUMNS(4)
#undef TULLE_COLUMNS
  }
}

/// Computes sums that are NaN, possibly by padding, again by exact(r).
template <class V, class Exact>
HWY_INLINE void repair(V* sum, std::int64_t n, Exact exact) {
  hn::ScalableTag<V> const d;
  constexpr int lanes = HWY_MAX_BYTES / sizeof(V);
  auto all = hn::Zero(d); // NaN where any sum is, or where opposite infinities meet
  std::int64_t r = 0;
  for (; r + lanes <= n; r += lanes)
    all = hn::Add(all, hn::LoadU(d, sum + r));
  V any = sum_of(d, all);
  for (; r < n; ++r)
    any = any + sum[r];
  if (any != any)
    for (r = 0; r < n; ++r)
      if (sum[r] != sum[r])
        sum[r] = exact(r);
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
