// SPDX-License-Identifier: Apache-2.0

// Products of overflow entries: those that stand in a row's slack or in a later segment.
#pragma once
#include "cuda/dynamic/matrix.cuh"
#include "cuda/primitive/arrive.cuh"
#include "cuda/primitive/block.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/spmv/rows.cuh"
#include "cuda/spmv/tiles.cuh"

#include <cuda_pipeline.h>

namespace tulle::kernels::cuda {
namespace {

/// Adds overflow entries to the products of a share that has more of them than room: each of its
/// entries looks for those whose partner it is, in slack and segments. Not inlined, to save
/// registers.
template <int threads, class V, class I>
__noinline__ __device__ void look_for_pairs(fragments<V, I> const& a, V const* x, I k0, int n, I r0,
                                            I r1, V* product) {
  for (int e = threadIdx.x; e < n; e += threads) {
    I const k = k0 + e;
    std::size_t const i = static_cast<std::size_t>(r0 + upper_bound(a.first + r0, r1 - r0, k)) - 1;
    I const length = a.first[i + 1] - a.first[i], overflow = a.length[i] - length;
    I p = whose_partner(k - a.first[i], length);
    for (int turn = 0; turn < most_turns && p < overflow; ++turn, p += length) {
      I const from = a.overflow_place(0, i, p);
      product[e] += a.val[from] * x[a.col[from]];
    }
  }
}

/// y += alpha times the entries whose partners are rows, in turns. Not inlined, too.
template <int threads, class V, class I>
__noinline__ __device__ void add_to_rows(V alpha, fragments<V, I> const& a, pair_count count,
                                         V const* x, V* y, I r0, I r1) {
  unsigned const n = count.copies();
  __syncthreads(); // all of y is written
  if (count.is_over(a.pairs.most())) {
    for (I i = r0 + static_cast<I>(threadIdx.x); i < r1; i += threads)
      for (I p = 0; a.first[i] == a.first[i + 1] && p < min(a.length[i], I(most_alone)); ++p) {
        I const from = a.overflow_place(0, i, p);
        y[i] = fma(alpha, a.val[from] * x[a.col[from]], y[i]);
      }
    return;
  }
  bool more = true;
  for (int turn = 0; __syncthreads_or(more); ++turn) {
    more = false;
    for (unsigned p = threadIdx.x; p < n; p += threads) {
      paired_entry<V, I> const e = a.pairs.entry[blockIdx.x * std::size_t{a.pairs.most()} + p];
      if (e.with.is_row() && e.with.turn() == turn) {
        V* const to = y + r0 + e.with.at();
        *to = fma(alpha, e.val * x[e.col], *to);
      }
      more = more || (e.with.is_row() && e.with.turn() > turn);
    }
  }
}

/// The overflow entries that are added to the products of a share. Each thread prefetches its first
/// one to shared memory while the block multiplies. H200, double, a product with .2 to 1 % in
/// overflow, in times of csr on poisson2d5 2048, circuit 2000000 and rmat 20: 1.02, 1.04, 1.02;
/// prefetched to registers 1.05, 1.03, 1.02; loaded at the end 1.10, 1.05, 1.02. With a tenth in
/// overflow 1.02, 1.01, 1.04.
template <int threads, class V, class I>
struct pairs_of_share {
  // Room for values, elements of x, and partners.
  static constexpr int room = 2 * threads + threads * 4 / static_cast<int>(sizeof(V));
  fragments<V, I> const& a;
  pair_count count{};

  __device__ bool is_any() const { return count.copies() != 0 || is_over(); }
  __device__ bool is_over() const { return count.is_over(a.pairs.most()); }
  __device__ paired_entry<V, I> const* first() const {
    return a.pairs.entry + blockIdx.x * std::size_t{a.pairs.most()};
  }
  __device__ static partner* with(V* there) {
    return reinterpret_cast<partner*>(there + 2 * threads);
  }

  __device__ void look() { count = a.pairs.count[blockIdx.x]; }
  __device__ void ask(V const* x, V* there) {
    unsigned const t = threadIdx.x;
    if (t < count.copies() && !is_over()) {
      paired_entry<V, I> const* const e = first() + t;
      __pipeline_memcpy_async(there + t, &e->val, sizeof(V));
      __pipeline_memcpy_async(with(there) + t, &e->with, sizeof(partner));
      __pipeline_memcpy_async(there + threads + t, x + e->col, sizeof(V));
    }
    __pipeline_commit();
  }
  __device__ void add(V const* x, V* there, I k0, int in_share, I r0, I r1, V* product) const {
    __pipeline_wait_prior(0);
    if (is_over()) {
      look_for_pairs<threads>(a, x, k0, in_share, r0, r1, product);
      __syncthreads();
    } else if (count.has_turns()) {
      for (int turn = 0; __syncthreads_or(add(turn, x, there, k0, product)); ++turn)
        ;
    } else {
      add(0, x, there, k0, product);
      __syncthreads();
    }
  }
  __device__ void finish(V alpha, V const* x, V* y, I r0, I r1) const {
    if (count.has_rows())
      add_to_rows<threads>(alpha, a, count, x, y, r0, r1);
  }

private:
  /// Adds the entries of a turn, each to its own partner; returns whether there are more turns.
  __device__ bool add(int turn, V const* x, V* there, I k0, V* product) const {
    unsigned const t = threadIdx.x, n = count.copies();
    int const shift = static_cast<int>(static_cast<I>(blockIdx.x) * a.pairs.share - k0);
    bool more = false;
    if (t < n) {
      partner const w = with(there)[t];
      if (w.is_with(turn))
        product[static_cast<int>(w.at()) + shift] += there[t] * there[threads + t];
      more = w.comes_after(turn);
    }
    for (unsigned p = threads + t; p < n; p += threads) {
      paired_entry<V, I> const* const e = first() + p;
      partner const w = e->with;
      if (w.is_with(turn))
        product[static_cast<int>(w.at()) + shift] += e->val * x[e->col];
      more = more || w.comes_after(turn);
    }
    return more;
  }
};

/// blocks_kernel and segments_kernel of csr, with the overflow entries of their rows.
template <class V, class I>
__global__ void __launch_bounds__(row_threads, 8)
    paired_blocks_kernel(V alpha, lines<V, I, I> a, __grid_constant__ fragments<V, I> const f,
                         V const* x, V beta, V* y, I const* first_row, bool lists_follow) {
  wait_for_launch_before();
  if (lists_follow)
    let_next_launch_begin();
  multiply_rows(alpha, a, x, beta, y, first_row, pairs_of_share<row_threads, V, I>{f});
}
template <class V, class I>
__global__ void __launch_bounds__(tile_threads)
    paired_segments_kernel(V alpha, lines<V, I, I> a, __grid_constant__ fragments<V, I> const f,
                           V const* x, V beta, V* y, shares<V, I> s) {
  wait_for_launch_before();
  let_next_launch_begin();
  multiply_segments(alpha, a, x, beta, y, s, pairs_of_share<tile_threads, V, I>{f});
}

/// Copies of all entries that have partners, where some of them have changed. A warp goes through
/// those of 32 rows, one row after the other.
template <class V, class I>
__global__ void __launch_bounds__(each_threads) pair_kernel(fragments<V, I> a) {
  std::size_t const i = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  I length = 0, n = 0;
  if (i < static_cast<std::size_t>(a.rows)) {
    length = a.first[i + 1] - a.first[i];
    I const overflow = a.length[i] - length;
    n = overflow < 0 ? 0
                     : static_cast<I>(min(static_cast<std::size_t>(overflow), a.paired(length)));
  }
  int const lane = threadIdx.x % 32;
  for (unsigned grown = __ballot_sync(whole_warp, n > 0); grown != 0; grown &= grown - 1) {
    int const who = __ffs(static_cast<int>(grown)) - 1;
    I const from = __shfl_sync(whole_warp, length, who), end = __shfl_sync(whole_warp, n, who);
    std::size_t const row = i - lane + who;
    for (I p = lane; p < end; p += 32) {
      I const at = a.overflow_place(0, row, p);
      a.pair(static_cast<I>(row), a.in_first(row), from + p, a.col[at], a.val[at]);
    }
  }
}

/// A row that has entries without partners.
template <class I>
struct grown_row {
  I row;
  I begin, places; // of its slack
  I from, count;   // those entries, among all in slack and further segments
};
template <class V, class I>
__device__ grown_row<I> grown(fragments<V, I> const& a, I i) {
  segment<I> const s = a.overflow(0, i);
  I const length = a.first[i + 1] - a.first[i], overflow = a.length[i] - length;
  auto const paired = static_cast<I>(a.paired(length)); // of a row that has more
  return {i, s.begin, s.end - s.begin, paired, overflow - paired};
}

// Listed rows per step of a block, its threads, and the entries that it multiplies per step.
constexpr int overflow_rows = 128;
constexpr int overflow_threads = 256;
constexpr int overflow_room = 512;
// The most blocks for the rows of each list.
constexpr std::size_t listed_blocks = 2112;
constexpr std::size_t crowded_blocks = 132;

/// Entry p of these, times x.
template <class V, class I>
__device__ V overflow_term(fragments<V, I> const& a, grown_row<I> const& g, I p, V const* x) {
  p += g.from;
  I const at = p < g.places ? g.begin + p : a.overflow_place(1, g.row, p - g.places);
  return a.val[at] * __ldg(x + a.col[at]);
}

/// Listed rows k, k + step and so on, as many as a block takes per step. Its threads share the
/// entries, whatever the rows, and then each thread adds up its row, in order, so the bits depend
/// on the entries alone. A warp that took one row after the other was four times slower on rmat,
/// where all rows of a warp may have many entries.
template <class V, class I>
__device__ void add_listed(V alpha, fragments<V, I> const& a, unsigned k0, unsigned step,
                           unsigned n, V const* x, V* y) {
  __shared__ grown_row<I> rows[overflow_rows];
  __shared__ int end[overflow_rows];
  __shared__ V term[overflow_room];
  __shared__ block_room<int> scan_room;
  int const t = threadIdx.x;
  std::size_t const k = k0 + t * std::size_t{step};
  grown_row<I> g{};
  if (t < overflow_rows && k < n)
    g = grown(a, a.lists.listed[k]);
  if (g.count > 0 && a.mark[g.row] == is_crowded)
    g.count = 0;
  int const mine = g.count > 0 ? static_cast<int>(g.count) : 0;
  int const begin = block_exclusive_scan<overflow_threads>(mine, scan_room);
  if (t < overflow_rows) {
    rows[t] = g;
    end[t] = begin + mine;
  }
  __syncthreads();
  int const all = end[overflow_rows - 1];
  V sum = 0;
  for (int e0 = 0; e0 < all; e0 += overflow_room) {
    int const e1 = min(all, e0 + overflow_room);
    for (int e = e0 + t; e < e1; e += overflow_threads) {
      int const r = upper_bound(end, overflow_rows, e);
      term[e - e0] = overflow_term(a, rows[r], static_cast<I>(e - (r > 0 ? end[r - 1] : 0)), x);
    }
    __syncthreads();
    for (int e = max(begin, e0); e < min(begin + mine, e1); ++e)
      sum += term[e - e0];
    __syncthreads();
  }
  if (mine != 0)
    y[g.row] = fma(alpha, sum, y[g.row]);
}

/// Crowded rows: all blocks share them, in pieces of a fixed number of entries. The block that ends
/// the last piece of a row adds up all of them, in order. On circuit 2000000 a tenth in overflow is
/// 67000 entries in each of three rows: products took .39 ms with one block per row, .20 with
/// pieces.
template <class V, class I>
__device__ void add_crowded(V alpha, fragments<V, I> const& a, int blocks, V const* x, V* y) {
  __shared__ grown_row<I> rows[overflow_threads];
  __shared__ int end[overflow_threads]; // pieces
  __shared__ bool is_last;
  __shared__ block_room<int> scan_room;
  __shared__ block_room<V> sum_room;
  row_lists<V, I> const& l = a.lists;
  int const t = threadIdx.x, n = static_cast<int>(l.counts->crowded);
  int before = 0; // pieces of rows before these
  for (int q0 = 0; q0 < n; q0 += overflow_threads) {
    grown_row<I> g{};
    if (q0 + t < n)
      g = grown(a, l.crowded[q0 + t]);
    int const mine = g.count > 0 ? static_cast<int>(ceil_div(g.count, I(shared_piece))) : 0;
    int const begin = block_exclusive_scan<overflow_threads>(mine, scan_room);
    rows[t] = g;
    end[t] = begin + mine;
    __syncthreads();
    int const all = end[overflow_threads - 1];
    for (int e = (static_cast<int>(blockIdx.x) + blocks - before % blocks) % blocks; e < all;
         e += blocks) {
      int const r = upper_bound(end, overflow_threads, e);
      int const first = r > 0 ? end[r - 1] : 0, pieces = end[r] - first;
      I const from = static_cast<I>(e - first) * shared_piece;
      I const to = min(rows[r].count, from + shared_piece);
      V sum = 0;
#pragma unroll 4
      for (I p = from + static_cast<I>(t); p < to; p += overflow_threads)
        sum += overflow_term(a, rows[r], p, x);
      sum = block_reduce<overflow_threads>(sum, sum_room);
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

/// Blocks of overflow_kernel for each list.
struct overflow_blocks {
  unsigned crowded, listed;
};

/// y += alpha times the entries that have no partner, row by row.
template <class V, class I>
__global__ void __launch_bounds__(overflow_threads)
    overflow_kernel(V alpha, fragments<V, I> a, overflow_blocks blocks, V const* x, V* y) {
  wait_for_launch_before();
  if (blockIdx.x < blocks.crowded)
    return add_crowded(alpha, a, static_cast<int>(blocks.crowded), x, y);
  // Rows with the most entries come early in a batch and hence in the list: every block gets some
  // of them.
  unsigned const n = a.lists.counts->listed;
  unsigned const step = max(ceil_div(n, unsigned{overflow_rows}), min(n, blocks.listed));
  for (unsigned k = blockIdx.x - blocks.crowded; k < step; k += blocks.listed)
    add_listed(alpha, a, k, step, n, x, y);
}

} // namespace
} // namespace tulle::kernels::cuda
