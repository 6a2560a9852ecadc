// SPDX-License-Identifier: Apache-2.0

// y = alpha*A*x + beta*y where consecutive entries add to different y: csc, the transpose of csr,
// coo in no order.
//
// The entries are cut into blocks, each scattered into its own sums over the range of y it touches;
// then the blocks' sums are added to y in order. The number of blocks depends on the matrix alone:
// as many, up to 64, as keep the sums few compared with the entries. Where two blocks have too
// many, that is one block, and hence one thread. There are no atomics, and the order does not
// depend on the schedule.
#pragma once
#include "tulle/core/types.def"

#include "kernel/simd.hpp"
#include "kernel/spmv.hpp"
#include "kernel/threads.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

constexpr int most_blocks = 64;
constexpr std::int64_t least_block = 4096; // entries; a guess, not measured
// Entries per sum: at least so many with more than two blocks, and with two. A sum takes about as
// long as two thirds of an entry.
constexpr std::int64_t entries_per_sum = 6, entries_per_sum_of_two = 1;
// plan_view::info: [0] blocks, [1 + 2b] and [2 + 2b] the range of y that block b touches
constexpr int info_lo = 1, info_hi = 2;
static_assert(1 + 2 * most_blocks <= 160);

/// Chooses the blocks. touched[b] = [lo, hi) of y for each of `fine` blocks, in info; adjacent
/// blocks are merged until the sums fit. Returns bytes of workspace.
template <class V>
std::size_t choose_blocks(int fine, std::int64_t nnz, plan_view& p) {
  std::int64_t* const range = p.info;
  int blocks = fine;
  for (;;) {
    std::int64_t total = 0;
    for (int b = 0; b < blocks; ++b)
      total += range[info_hi + 2 * b] - range[info_lo + 2 * b];
    if (total <= nnz / (blocks > 2 ? entries_per_sum : entries_per_sum_of_two) || blocks == 1) {
      p.info[0] = blocks;
      p.method = blocks == 1 ? "scatter, one block" : "scatter in blocks";
      return static_cast<std::size_t>(total) * sizeof(V);
    }
    for (int b = 0; b < blocks; b += 2) {
      std::int64_t lo = range[info_lo + 2 * b];
      std::int64_t hi = range[info_hi + 2 * b];
      if (b + 1 < blocks) {
        std::int64_t const lo2 = range[info_lo + 2 * (b + 1)];
        std::int64_t const hi2 = range[info_hi + 2 * (b + 1)];
        if (lo == hi || (lo2 < lo && lo2 < hi2))
          lo = lo2;
        if (hi2 > hi && lo2 < hi2)
          hi = hi2;
      }
      range[info_lo + b] = lo;
      range[info_hi + b] = hi < lo ? lo : hi;
    }
    blocks = (blocks + 1) / 2;
  }
}

/// The number of blocks before merging: a power of two, so that merging halves it evenly.
inline int fine_blocks(std::int64_t nnz) {
  int fine = most_blocks;
  while (fine > 1 && nnz / fine < least_block)
    fine /= 2;
  return fine;
}

/// First entry of block b of `blocks`.
inline std::int64_t block_begin(std::int64_t nnz, std::int64_t b, std::int64_t blocks) {
  // Multiples of the finest cut, so that merged blocks begin where fine ones did.
  return nnz / blocks * b + nnz % blocks * b / blocks;
}

/// The range of y that is touched.
struct extent {
  std::int64_t lo = INT64_MAX, hi = 0;
  HWY_INLINE void add(std::int64_t target) {
    lo = target < lo ? target : lo;
    hi = target >= hi ? target + 1 : hi;
  }
};

/// Cuts units (entries, rows, chunks), which together hold `stored` entries, into blocks;
/// touched(begin, end, e) adds the targets of units [begin, end) to an extent. The range of each
/// block goes into info.
template <class V, class Touched>
std::size_t prepare_scatter_of(std::int64_t units, std::int64_t stored, plan_view& p,
                               Touched touched) {
  int const fine = fine_blocks(stored);
  p.one_pattern = true;
  parallel_for(fine, p.threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      extent e;
      touched(block_begin(units, b, fine), block_begin(units, b + 1, fine), e);
      p.info[info_lo + 2 * b] = e.lo == INT64_MAX ? 0 : e.lo;
      p.info[info_hi + 2 * b] = e.hi;
    }
  });
  return choose_blocks<V>(fine, stored, p);
}

/// The same where units are entries; entry k touches target[k].
template <class V, class I>
std::size_t prepare_scatter(I const* target, std::int64_t nnz, plan_view& p) {
  return prepare_scatter_of<V>(nnz, nnz, p, [=](std::int64_t begin, std::int64_t end, extent& e) {
    if (begin == end)
      return;
    I lo = target[begin], hi = lo; // of the index type: by vectors
    for (std::int64_t k = begin; k < end; ++k) {
      lo = target[k] < lo ? target[k] : lo;
      hi = target[k] > hi ? target[k] : hi;
    }
    e.add(static_cast<std::int64_t>(lo));
    e.add(static_cast<std::int64_t>(hi));
  });
}

/// walk(begin, end, out) adds units [begin, end), as in prepare_scatter_of(), times x to
/// out[target].
template <class V, class Walk>
void multiply_scatter(V alpha, std::int64_t targets, std::int64_t units, V beta, V* y,
                      plan_view const& p, Walk walk) {
  std::int64_t const blocks = p.info[0];
  V* const work = static_cast<V*>(p.work);
  bool const overwrite = beta == V{};
  std::int64_t begin[most_blocks + 1]; // of each block's sums in work
  begin[0] = 0;
  V one{};
  if constexpr (is_pair<V>)
    one.re = 1;
  else
    one = 1;
  if (blocks == 1 && overwrite && alpha == one) { // the same additions, without sums elsewhere
    for (std::int64_t i = 0; i < targets; ++i)
      y[i] = V{};
    return walk(0, units, y);
  }
  for (std::int64_t b = 0; b < blocks; ++b)
    begin[b + 1] = begin[b] + p.info[info_hi + 2 * b] - p.info[info_lo + 2 * b];

  parallel_each(blocks, 1, p.threads, [&](std::int64_t b, int) {
    for (std::int64_t i = begin[b]; i < begin[b + 1]; ++i)
      work[i] = V{};
    walk(block_begin(units, b, blocks), block_begin(units, b + 1, blocks),
         work + begin[b] - p.info[info_lo + 2 * b]);
  });
  constexpr std::int64_t strip = 1024; // of y, so that its sums of all blocks stay in L1
  std::int64_t const strips = (targets + strip - 1) / strip;
  parallel_for(strips, p.threads, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t s = first * strip; s < targets && s < last * strip; s += strip) {
      std::int64_t const e = s + strip < targets ? s + strip : targets;
      V sum[strip];
      for (std::int64_t i = s; i < e; ++i)
        sum[i - s] = V{};
      for (std::int64_t b = 0; b < blocks; ++b) {
        std::int64_t const lo = p.info[info_lo + 2 * b];
        std::int64_t const hi = p.info[info_hi + 2 * b];
        V const* const part = work + begin[b] - lo;
        for (std::int64_t i = s > lo ? s : lo, end = e < hi ? e : hi; i < end; ++i)
          sum[i - s] = sum[i - s] + part[i];
      }
      for (std::int64_t i = s; i < e; ++i)
        update(y + i, alpha, sum[i - s], beta, overwrite);
    }
  });
}

/// csc, or csr transposed: `ptr` over `lines`, each line j scaled by x[j].
template <class V, class I, class O>
void product_by_lines(V alpha, O const* ptr, I const* target, V const* val, std::int64_t lines,
                      std::int64_t targets, std::int64_t nnz, V const* x, V beta, V* y,
                      plan_view const& p) {
  using W = plain<V>;
  W const* const v = as_plain(val);
  W const* const xs = as_plain(x);
  multiply_scatter(*as_plain(&alpha), targets, nnz, *as_plain(&beta), as_plain(y), p,
                   [=](std::int64_t begin, std::int64_t end, W* out) {
                     if (begin == end)
                       return;
                     std::int64_t lo =
                         0; // the line that holds entry `begin`: the last with ptr <= begin
                     std::int64_t hi = lines;
                     while (hi - lo > 1) {
                       std::int64_t const mid = (lo + hi) / 2;
                       if (static_cast<std::int64_t>(ptr[mid]) <= begin)
                         lo = mid;
                       else
                         hi = mid;
                     }
                     for (std::int64_t j = lo, k = begin; k < end; ++j) {
                       std::int64_t const line_end = ptr[j + 1];
                       std::int64_t const stop = line_end < end ? line_end : end;
                       W const xj = xs[j];
                       for (; k < stop; ++k)
                         out[target[k]] = mul_add(v[k], xj, out[target[k]]);
                     }
                   });
}

} // namespace

// product_by_lines() as compiled with csr.cpp.
#define TULLE_LINES(tag, V, I, O)                                                                  \
  void scatter_lines(V alpha, O const* ptr, I const* target, V const* val, std::int64_t lines,     \
                     std::int64_t targets, std::int64_t nnz, V const* x, V beta, V* y,             \
                     plan_view const& p);
TULLE_TYPES(TULLE_LINES)
TULLE_BASIC_TYPES(TULLE_LINES)
#undef TULLE_LINES

} // namespace tulle::kernels::TULLE_ISA
