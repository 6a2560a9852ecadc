// SPDX-License-Identifier: Apache-2.0

// What a product adds for entries behind the first segments of rows.
#pragma once
#include "cuda/dynamic/matrix.cuh"
#include "cuda/primitive/arrive.cuh"
#include "cuda/primitive/block.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/spmv/rows.cuh"

namespace tulle::simt {
namespace {

__device__ inline bool is_few(int mark) {
  return mark != 0 && mark <= few_behind;
}

/// What a row has there, times x, in the order it came: n entries, few_behind at most.
template <class V, class I>
__device__ V few_terms(fragments<V, I> const& a, std::size_t i, int n, V const* x) {
  segment<I> s = a.behind(0, i);
  V sum = 0;
  for (int level = 1;; ++level) {
    int const here = static_cast<int>(min(static_cast<I>(n), s.end - s.begin));
#pragma unroll 1 // so that grown_blocks_kernel has no more than 32 registers
    for (int q = 0; q < here; ++q)
      sum += a.val[s.begin + q] * __ldg(x + a.col[s.begin + q]);
    n -= here;
    if (n == 0)
      return sum;
    s = a.behind(level, i);
  }
}

/// What blocks_kernel of csr does with rows [first, last).
template <class V, class I>
__device__ void multiply_rows(V alpha, lines<V, I, I> const& a, V const* x, V beta, V* y, I first,
                              I last, V* product) {
  I const k0 = a.row_ptr[first];
  multiply<row_threads>(a, x, k0, static_cast<int>(a.row_ptr[last] - k0), product);
  __syncthreads();
  int width = 1;
  while (width < 32 && static_cast<std::size_t>(last - first) * width * 2 <= row_threads)
    width *= 2;
  int const lane = threadIdx.x % width;
  for (std::size_t r = 0; r < static_cast<std::size_t>(last - first); r += row_threads / width) {
    std::size_t const i = static_cast<std::size_t>(first) + r + threadIdx.x / width;
    V sum = 0;
    if (i < static_cast<std::size_t>(last)) {
      int const stop = static_cast<int>(a.row_ptr[i + 1] - k0);
      for (int k = static_cast<int>(a.row_ptr[i] - k0) + lane; k < stop; k += width)
        sum += product[k];
    }
    sum = reduce(sum, width);
    if (i < static_cast<std::size_t>(last) && lane == 0)
      update(y + i, alpha, sum, beta);
  }
}

/// blocks_kernel of csr, whose rows add at once what they have behind them, where that is little.
/// It has 32 registers as csr's: with 40, rounds of bench dynamic took .61 ms on poisson2d5 2048
/// instead of .57, and as two kernels .65. Entries that are copied to shared memory while the block
/// multiplies, or asked for from the second-level cache, did not help.
template <class V, class I>
__global__ void __launch_bounds__(row_threads, 8)
    grown_blocks_kernel(V alpha, lines<V, I, I> a, fragments<V, I> f, V const* x, V beta, V* y,
                        I const* first_row) {
  __shared__ V product[tile + longest];
  wait_for_launch_before();
  I const first = first_row[blockIdx.x];
  I const last = first_row[blockIdx.x + 1];
  if (first == last)
    return;
  std::size_t i = static_cast<std::size_t>(first) + threadIdx.x;
  std::size_t const end = static_cast<std::size_t>(last);
  // On their way while the block multiplies: those of rows of two entries and more.
  int const mark0 = i < end ? f.mark[i] : 0;
  int const mark1 = i + row_threads < end ? f.mark[i + row_threads] : 0;
  multiply_rows(alpha, a, x, beta, y, first, last, product);
  __syncthreads();
  auto const add = [&](int n) {
    if (is_few(n))
      y[i] = fma(alpha, few_terms(f, i, n, x), y[i]);
    i += row_threads;
  };
  add(mark0);
  add(mark1);
  while (i < end)
    add(f.mark[i]);
}

/// A row with more.
template <class I>
struct grown_row {
  I row;
  I begin, places; // of its slack
  I count;         // entries in that and behind it
};
template <class V, class I>
__device__ grown_row<I> grown(fragments<V, I> const& a, I i) {
  segment<I> const s = a.behind(0, i);
  return {i, s.begin, s.end - s.begin, a.length[i] - (a.first[i + 1] - a.first[i])};
}

// Listed rows that a block takes at a time, its threads, and entries that it multiplies at a time.
constexpr int behind_rows = 128;
constexpr int behind_threads = 256;
constexpr int behind_entries = 512;
// Rows that a block looks at for few entries.
constexpr int few_rows = 4 * behind_threads;
// The most blocks for the rows of each list.
constexpr std::size_t listed_blocks = 2112;
constexpr std::size_t crowded_blocks = 132;

/// Entry p of those that a row has behind its first segment, times x.
template <class V, class I>
__device__ V term_behind(fragments<V, I> const& a, grown_row<I> const& g, I p, V const* x) {
  I const at = p < g.places ? g.begin + p : a.place_behind(1, g.row, p - g.places);
  return a.val[at] * __ldg(x + a.col[at]);
}

/// A thread's rows, from i on, that have few.
template <class V, class I>
__device__ void add_few(V alpha, fragments<V, I> const& a, std::size_t i, V const* x, V* y) {
  int mark[few_rows / behind_threads];
#pragma unroll
  for (int q = 0; q < few_rows / behind_threads; ++q) {
    std::size_t const k = i + q * behind_threads;
    mark[q] = k < static_cast<std::size_t>(a.rows) ? a.mark[k] : 0;
  }
#pragma unroll
  for (int q = 0; q < few_rows / behind_threads; ++q)
    if (is_few(mark[q])) {
      std::size_t const k = i + q * behind_threads;
      V const before = y[k];
      y[k] = fma(alpha, few_terms(a, k, mark[q], x), before);
    }
}

/// Listed rows k, k + step and so on, as many as a block takes. Its threads share their entries,
/// whatever the rows, and then each adds up those of its row, in their order: so the bits follow
/// from the entries alone. A warp that went through one row after the other took four times as long
/// on rmat, where all rows of a warp may have many.
template <class V, class I>
__device__ void add_listed(V alpha, fragments<V, I> const& a, unsigned k0, unsigned step,
                           unsigned n, V const* x, V* y) {
  __shared__ grown_row<I> rows[behind_rows];
  __shared__ int end[behind_rows];
  __shared__ V term[behind_entries];
  __shared__ block_room<int> scan_room;
  int const t = threadIdx.x;
  std::size_t const k = k0 + t * std::size_t{step};
  grown_row<I> g{};
  if (t < behind_rows && k < n)
    g = grown(a, a.lists.listed[k]);
  if (g.count > 0 && a.mark[g.row] == is_crowded)
    g.count = 0;
  int const mine = g.count > 0 ? static_cast<int>(g.count) : 0;
  int const begin = block_exclusive_scan<behind_threads>(mine, scan_room);
  if (t < behind_rows) {
    rows[t] = g;
    end[t] = begin + mine;
  }
  __syncthreads();
  int const all = end[behind_rows - 1];
  V sum = 0;
  for (int e0 = 0; e0 < all; e0 += behind_entries) {
    int const e1 = min(all, e0 + behind_entries);
    for (int e = e0 + t; e < e1; e += behind_threads) {
      int const r = upper_bound(end, behind_rows, e);
      term[e - e0] = term_behind(a, rows[r], static_cast<I>(e - (r > 0 ? end[r - 1] : 0)), x);
    }
    __syncthreads();
    for (int e = max(begin, e0); e < min(begin + mine, e1); ++e)
      sum += term[e - e0];
    __syncthreads();
  }
  if (mine != 0)
    y[g.row] = fma(alpha, sum, y[g.row]);
}

/// Crowded rows: so many blocks share them, in pieces of as many entries, whatever the blocks. Who
/// is the last with a piece of a row adds up all of them, in their order. On circuit 2000000 a
/// tenth behind is 67000 entries in each of three rows: products took .39 ms with a block for each,
/// .20 so.
template <class V, class I>
__device__ void add_crowded(V alpha, fragments<V, I> const& a, int blocks, V const* x, V* y) {
  __shared__ grown_row<I> rows[behind_threads];
  __shared__ int end[behind_threads]; // pieces
  __shared__ bool is_last;
  __shared__ block_room<int> scan_room;
  __shared__ block_room<V> sum_room;
  row_lists<V, I> const& l = a.lists;
  int const t = threadIdx.x, n = static_cast<int>(l.counts->crowded);
  int before = 0; // pieces of rows before these
  for (int q0 = 0; q0 < n; q0 += behind_threads) {
    grown_row<I> g{};
    if (q0 + t < n)
      g = grown(a, l.crowded[q0 + t]);
    int const mine = g.count > 0 ? static_cast<int>(ceil_div(g.count, I(shared_piece))) : 0;
    int const begin = block_exclusive_scan<behind_threads>(mine, scan_room);
    rows[t] = g;
    end[t] = begin + mine;
    __syncthreads();
    int const all = end[behind_threads - 1];
    for (int e = (static_cast<int>(blockIdx.x) + blocks - before % blocks) % blocks; e < all;
         e += blocks) {
      int const r = upper_bound(end, behind_threads, e);
      int const first = r > 0 ? end[r - 1] : 0, pieces = end[r] - first;
      I const from = static_cast<I>(e - first) * shared_piece;
      I const to = min(rows[r].count, from + shared_piece);
      V sum = 0;
#pragma unroll 4
      for (I p = from + static_cast<I>(t); p < to; p += behind_threads)
        sum += term_behind(a, rows[r], p, x);
      sum = block_reduce<behind_threads>(sum, sum_room);
      if (t == 0) {
        l.part[before + e] = sum;
        is_last = arrive(l.ticket + q0 + r) == static_cast<unsigned>(pieces - 1);
      }
      __syncthreads();
      if (is_last && t < 32) {
        V total = 0;
        for (int p = t; p < pieces; p += 32)
          total += left_by_others(l.part + before + first + p);
        total = reduce<32>(total);
        if (t == 0) {
          y[rows[r].row] = fma(alpha, total, y[rows[r].row]);
          l.ticket[q0 + r] = 0;
        }
      }
      __syncthreads();
    }
    before += all;
    __syncthreads();
  }
}

/// Blocks of behind_kernel for each list; others look for rows with few entries.
struct behind_blocks {
  unsigned crowded, listed;
};

/// y += alpha times what rows have behind their first segments.
template <class V, class I>
__global__ void __launch_bounds__(behind_threads)
    behind_kernel(V alpha, fragments<V, I> a, behind_blocks blocks, V const* x, V* y) {
  wait_for_launch_before();
  if (blockIdx.x < blocks.crowded)
    return add_crowded(alpha, a, static_cast<int>(blocks.crowded), x, y);
  unsigned const b = blockIdx.x - blocks.crowded;
  if (b < blocks.listed) {
    // Rows that have most come early in a batch, and so in the list: every block has some of them.
    unsigned const n = a.lists.counts->listed;
    unsigned const step = max(ceil_div(n, unsigned{behind_rows}), min(n, blocks.listed));
    for (unsigned k = b; k < step; k += blocks.listed)
      add_listed(alpha, a, k, step, n, x, y);
    return;
  }
  add_few(alpha, a, (b - blocks.listed) * std::size_t{few_rows} + threadIdx.x, x, y);
}

} // namespace
} // namespace tulle::simt
