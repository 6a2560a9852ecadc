// SPDX-License-Identifier: Apache-2.0

// A batch of few entries, which is put in order without a sort: CUB's sort took half of the time of
// such a batch. All blocks of the kernel are resident at once, so that they can wait for each
// other:
//   count    entries of each row; an entry gets the number that the row's counter had
//   plan     by the entry that came first to the counter: the row's new segment
//   list     entries of rows that have several, in the order of those numbers
//   append   each entry ranks itself among those of its row by their places in the batch. Rows that
//            have many are a block's: one bit for each entry of the batch, and the bits before it.
// Without the list step, entries of a row stay in the order of the counter: the same sums, but not
// the same bits.
#pragma once
#include "cuda/cooperative.cuh"
#include "cuda/dynamic/batch.cuh"
#include "cuda/primitive/block.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr unsigned most_bits = 1 << 17; // entries: as many as a block has room for
constexpr unsigned crowd = 128;         // rows of at least this many entries are ranked by a block
constexpr unsigned crowd_parts = 4;     // blocks for the longest row
constexpr int crowd_words = most_bits / 32;

/// Of a row, all zero between batches.
struct tally {
  unsigned count;
  unsigned leader; // the entry that came first
};

/// The kernels' view of a batch.
struct counted {
  tally* of_row;
  unsigned* list;   // entries of rows that have several, row by row
  unsigned* crowds; // leaders of rows that have many entries
  bool in_order;
};

/// The number that the counter of its row gives an entry; one addition for all lanes of a row.
template <class I>
__device__ unsigned count_entry(tally* of_row, I i, bool inside) {
  unsigned const all = __ballot_sync(whole_warp, inside), before = (1u << threadIdx.x % 32) - 1;
  if (!inside)
    return 0;
  unsigned const alike = __match_any_sync(all, i);
  unsigned from = 0;
  if ((alike & before) == 0)
    from = atomicAdd(&of_row[i].count, static_cast<unsigned>(__popc(alike)));
  from = __shfl_sync(alike, from, __ffs(static_cast<int>(alike)) - 1);
  return from + static_cast<unsigned>(__popc(alike & before));
}

/// Where the entries of a row that has several are listed.
template <class V, class I>
__device__ void give_list(batch<V, I> const& b, counted const& c, std::size_t k, run<I>& r) {
  unsigned const several = r.count > 1 ? r.count : 0;
  unsigned const up_to = inclusive_scan(several);
  unsigned from = 0;
  if (threadIdx.x % 32 == 31 && up_to != 0)
    from = atomicAdd(&b.found->listed, up_to);
  r.start = __shfl_sync(whole_warp, from, 31) + up_to - several;
  if (r.count > crowd)
    c.crowds[atomicAdd(&b.found->crowds, 1u)] = static_cast<unsigned>(k);
}

/// The entries of a row that has many, or every `step`-th of those from `first_entry` on, one per
/// thread of a block.
template <class V, class I>
__device__ void append_crowd(batch<V, I> const& b, counted const& c, I i, run<I> const& r,
                             unsigned first_entry, unsigned step, unsigned* bits, unsigned* ones,
                             block_room<int>& room) {
  int const words = static_cast<int>(ceil_div<std::size_t>(b.n, 32));
  int const each = ceil_div(words, each_threads);
  for (int w = threadIdx.x; w < words; w += each_threads)
    bits[w] = 0;
  __syncthreads();
  for (unsigned q = threadIdx.x; q < r.count; q += each_threads) {
    unsigned const k = c.list[r.start + q];
    atomicOr(&bits[k / 32], 1u << k % 32);
  }
  __syncthreads();
  int const first = min(words, static_cast<int>(threadIdx.x) * each);
  int const last = min(words, first + each);
  int sum = 0;
  for (int w = first; w < last; ++w)
    sum += __popc(bits[w]);
  int before = block_exclusive_scan<each_threads>(sum, room);
  for (int w = first; w < last; ++w) {
    ones[w] = static_cast<unsigned>(before);
    before += __popc(bits[w]);
  }
  __syncthreads();
  for (unsigned q = first_entry + threadIdx.x; q < r.count; q += step) {
    unsigned const k = c.list[r.start + q];
    put(b.a, i, b.a.in_first(i), r,
        static_cast<I>(ones[k / 32] + __popc(bits[k / 32] & ((1u << k % 32) - 1))), b.col[k],
        b.val[k]);
  }
  __syncthreads();
}

/// This kernel takes 22 us for .2 % of poisson2d5 2048; four kernels took 39. Each of its barriers
/// takes about 1 us.
template <class V, class I>
__global__ void __launch_bounds__(each_threads, 4)
    counted_kernel(batch<V, I> b, I cols, counted c, run<I>* runs, unsigned number, notice* to) {
  __shared__ unsigned bits[crowd_words], ones[crowd_words];
  __shared__ block_room<int> room;
  auto const all = cooperative_groups::this_grid();
  std::size_t const k = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  I const i = k < b.n ? b.row[k] : I(-1);
  I const j = k < b.n ? b.col[k] : I(0);
  V const v = k < b.n ? b.val[k] : V(0);
  bool const inside = i >= 0 && i < b.a.rows && j >= 0 && j < cols;
  row_now<I> const now = inside ? b.a.now(i) : row_now<I>{};
  unsigned rank = count_entry(c.of_row, i, inside);
  fold_warp<greatest>(k < b.n && !inside ? b.n - k : 0, &b.found->bad);
  if (k == 0)
    *b.next = {};
  all.sync();
  if (b.found->bad != 0) {
    if (k == 0)
      tell(*b.found, number, to);
    return;
  }
  bool const is_first = inside && rank == 0;
  plan<I> p{};
  if (is_first) {
    unsigned const count = c.of_row[i].count;
    p = plan_row(b.a, b.g, i, now, count, b.found);
    p.r.count = count;
  }
  give_places(b, p);
  give_list(b, c, k, p.r);
  if (p.r.count > 1) {
    c.of_row[i].leader = static_cast<unsigned>(k);
    runs[k] = p.r;
  }
  all.sync();
  if (k == 0)
    tell(*b.found, number, to);
  if (!is_fine(b))
    return;
  run<I> const r = inside && !is_first ? runs[c.of_row[i].leader] : p.r;
  if (c.in_order && b.found->listed != 0) {
    if (r.count > 1)
      c.list[r.start + rank] = static_cast<unsigned>(k);
    all.sync();
    if (r.count > 1 && r.count <= crowd) {
      rank = 0;
#pragma unroll 4
      for (unsigned q = 0; q < r.count; ++q)
        rank += c.list[r.start + q] < k;
    }
  }
  if (inside && (!c.in_order || r.count <= crowd))
    put(b.a, i, now.first, r, static_cast<I>(rank), j, v);
  if (is_first) {
    settle(b.a, i, now.first, r, p.size, r.length + static_cast<I>(r.count), b.found);
    c.of_row[i].count = 0;
  }
  for (unsigned q = blockIdx.x; c.in_order && q < b.found->crowds * crowd_parts; q += gridDim.x) {
    std::size_t const first = c.crowds[q / crowd_parts];
    unsigned const part = q % crowd_parts * each_threads;
    if (part < runs[first].count)
      append_crowd(b, c, b.row[first], runs[first], part, crowd_parts * each_threads, bits, ones,
                   room);
  }
}

} // namespace
} // namespace tulle::kernels::cuda
