// SPDX-License-Identifier: Apache-2.0

// How the columns of the rows of a block are related: for plans, which read all columns once.
#pragma once
#include "cpu/spmv/row_blocks.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// Rows looked at before all are compared: groups of 2, 3, 4, 5 and 6 do not hide from 13.
constexpr int look_every = 13;
constexpr int longest_from_memory = 5; // entries of rows that are read four at a time from memory

/// The first k in [k, end) with col[k] != col[k - n] + d; end if there is none.
template <class I>
HWY_INLINE std::int64_t first_unlike(I const* col, std::int64_t k, std::int64_t end, std::int64_t n,
                                     I d) {
  hn::ScalableTag<I> const di;
  constexpr int lanes = HWY_MAX_BYTES / sizeof(I);
  for (; k + lanes <= end; k += lanes) {
    auto const difference = hn::Sub(hn::LoadU(di, col + k), hn::LoadU(di, col + k - n));
    if (!hn::AllTrue(di, hn::Eq(difference, hn::Set(di, d))))
      break;
  }
  while (k < end && col[k] - col[k - n] == d)
    ++k;
  return k;
}

/// Whether the columns from k to end follow one another.
template <class I>
HWY_INLINE bool is_run(I const* col, std::int64_t k, std::int64_t end) {
  return end - k > 1 && col[end - 1] - col[k] == end - 1 - k &&
         first_unlike(col, k + 1, end, 1, I{1}) == end;
}

/// Sets bits of rows that have the columns of the row before, plus d; returns how many.
template <class V, class I, class O>
int relate(row_block<V, I, O> const& b, I d, std::uint64_t* related) {
  int found = 0;
  for (int i = 0; i < b.rows;) { // runs of rows of one length
    std::int64_t const n = b.length(i);
    int end = i + 1;
    while (end < b.rows && b.length(end) == n)
      ++end;
    for (int r = i + 1; n != 0 && r < end; ++r) { // the row after one that does not follow
      std::int64_t const begin = b.ptr[r];
      std::int64_t const k = first_unlike<I>(b.col, begin, b.ptr[end], n, d);
      int const stop = r + static_cast<int>((k - begin) / n);
      found += stop - r;
      for (; r < stop; ++r)
        related[r / 64] |= std::uint64_t{1} << r % 64;
    }
    i = end;
  }
  return found;
}

/// What is worth knowing of the columns of a block of this kind; sets `related` to the rows' bits.
template <class V, class I, class O>
relation relation_of(row_block<V, I, O> const& b, block_kind kind, bool from_memory,
                     std::uint64_t* related) {
  auto const forget = [&] {
    for (int w = 0; w < block_rows / 64; ++w)
      related[w] = 0;
  };
  forget();
  bool const may_be_next = kind == block_kind::equal || kind == block_kind::long_rows;
  bool const may_be_same = kind == block_kind::wide || kind == block_kind::long_rows;
  if (is_pair<V> || (!may_be_next && !may_be_same))
    return relation::none;
  // Several long rows at once are too many streams for the processor to prefetch: from memory a 3-D
  // grid of 27 took 1.3 times as long, 3 x 3 blocks 1.4 times, a grid of 7 1.1 times.
  if (from_memory && (kind != block_kind::equal || b.length(b.rows / 2) > longest_from_memory))
    return relation::none;
  int same = 0, next = 0, seen = 0;
  for (int i = 1; i < b.rows; i += look_every, ++seen) {
    std::int64_t const n = b.length(i);
    if (n == 0 || b.length(i - 1) != n)
      continue;
    I const* const c = b.col + b.ptr[i];
    I const first = c[0] - c[-n], last = c[n - 1] - c[-1];
    same += first == 0 && last == 0;
    next += first == 1 && last == 1;
  }
  if (may_be_next && 2 * next > seen && 2 * relate(b, I{1}, related) > b.rows)
    return relation::next;
  forget();
  if (may_be_same && 3 * same > seen && 3 * relate(b, I{0}, related) > b.rows)
    return relation::same;
  forget();
  return relation::none;
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
