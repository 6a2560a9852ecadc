// SPDX-License-Identifier: Apache-2.0

// The kernels of a batch of few entries, which is put in order without a sort: half of the time of
// such a batch was CUB's.
//   count    entries of each row; an entry gets the number that the row's counter had
//   plan     by the entry that came first to the counter: the row's new segment
//   list     entries of rows that have several, in the order of those numbers
//   append   each entry ranks itself among those of its row by their places in the batch. Rows that
//            have many are a block's: one bit for each entry of the batch, and the bits before it.
// Without list, entries of a row stay as the counter had them: the same sums, not the same bits.
#pragma once
#include "cuda/dynamic/batch.cuh"
#include "cuda/primitive/block.cuh"

namespace tulle::simt {
namespace {

constexpr unsigned most_counted = 1 << 17; // entries: as many bits as a block has room for
constexpr unsigned crowd = 128;            // entries of a row from which on a block ranks them
constexpr unsigned crowd_parts = 4;        // blocks of a row that has most
constexpr std::size_t crowd_blocks = crowd_parts * 128;
constexpr int crowd_words = most_counted / 32;

/// Of a row, all zero between batches.
struct tally {
  unsigned count;
  unsigned leader; // who came first
};

/// What the kernels know of a batch.
struct counted {
  tally* of_row;
  unsigned* rank;   // the counter's number
  unsigned* list;   // of entries of rows that have several, row by row
  unsigned* crowds; // leaders of rows that have many
  bool in_order;
};

template <class V, class I>
__global__ void count_kernel(batch<V, I> b, I cols, counted c) {
  wait_for_launch_before();
  std::size_t const k = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  unsigned const before = (1u << threadIdx.x % 32) - 1;
  I const i = k < b.n ? b.row[k] : I(-1);
  I const j = k < b.n ? b.col[k] : I(0);
  bool const inside = i >= 0 && i < b.a.rows && j >= 0 && j < cols;
  unsigned const all = __ballot_sync(whole_warp, inside);
  if (inside) { // one for all lanes of a row
    unsigned const alike = __match_any_sync(all, i);
    unsigned from = 0;
    if ((alike & before) == 0)
      from = atomicAdd(&c.of_row[i].count, static_cast<unsigned>(__popc(alike)));
    from = __shfl_sync(alike, from, __ffs(static_cast<int>(alike)) - 1);
    c.rank[k] = from + __popc(alike & before);
  }
  fold_warp<greatest>(k < b.n && !inside ? b.n - k : 0, &b.found->bad);
  if (k == 0)
    *b.next = {};
}

template <class V, class I>
__global__ void __launch_bounds__(each_threads)
    plan_counted_kernel(batch<V, I> b, counted c, plans<I> to) {
  wait_for_launch_before();
  if (b.found->bad != 0)
    return;
  std::size_t const k = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  bool const is_first = k < b.n && c.rank[k] == 0;
  plan<I> p{};
  if (is_first) {
    tally& t = c.of_row[b.row[k]];
    t.leader = static_cast<unsigned>(k);
    p = plan_row(b.a, b.g, b.row[k], t.count, b.found);
    p.r.count = t.count;
  }
  give_places(b, p);
  run<I>& r = p.r;
  unsigned const several = r.count > 1 ? r.count : 0;
  unsigned const up_to = inclusive_scan(several);
  unsigned from = 0;
  if (threadIdx.x % 32 == 31 && up_to != 0)
    from = atomicAdd(&b.found->listed, up_to);
  r.start = __shfl_sync(whole_warp, from, 31) + up_to - several;
  if (r.count > crowd)
    c.crowds[atomicAdd(&b.found->crowds, 1u)] = static_cast<unsigned>(k);
  if (is_first)
    to.set(k, p);
}

template <class V, class I>
__global__ void list_kernel(batch<V, I> b, counted c, run<I> const* runs, unsigned number,
                            notice* to) {
  wait_for_launch_before();
  std::size_t const k = blockIdx.x * std::size_t{each_threads} + threadIdx.x;
  if (k == 0)
    tell(*b.found, number, to);
  if (k >= b.n || !is_fine(b))
    return;
  tally const t = c.of_row[b.row[k]];
  if (t.count > 1)
    c.list[runs[t.leader].start + c.rank[k]] = static_cast<unsigned>(k);
}

/// The entries of a row that has many, or every `step`-th of those from `first_entry` on, a block's
/// threads each one of them.
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
    put(b, i, r, static_cast<I>(ones[k / 32] + __popc(bits[k / 32] & ((1u << k % 32) - 1))), k);
  }
  __syncthreads();
}

template <class V, class I>
__global__ void __launch_bounds__(each_threads)
    append_counted_kernel(batch<V, I> b, counted c, plans<I> planned, unsigned number, notice* to) {
  __shared__ unsigned bits[crowd_words], ones[crowd_words];
  __shared__ block_room<int> room;
  wait_for_launch_before();
  if (blockIdx.x == 0 && threadIdx.x == 0 && !c.in_order)
    tell(*b.found, number, to);
  if (!is_fine(b))
    return;
  if (blockIdx.x < crowd_blocks) { // they take longest, so they come first
    unsigned const part = blockIdx.x % crowd_parts * each_threads;
    for (unsigned q = blockIdx.x / crowd_parts; c.in_order && q < b.found->crowds;
         q += crowd_blocks / crowd_parts) {
      run<I> const r = planned.runs[c.crowds[q]];
      if (part < r.count)
        append_crowd(b, c, b.row[c.crowds[q]], r, part, crowd_parts * each_threads, bits, ones,
                     room);
    }
    return;
  }
  std::size_t const k = (blockIdx.x - crowd_blocks) * std::size_t{each_threads} + threadIdx.x;
  if (k >= b.n)
    return;
  I const i = b.row[k];
  unsigned const leader = c.of_row[i].leader;
  run<I> const r = planned.runs[leader];
  unsigned rank = c.rank[k];
  if (c.in_order && r.count > 1 && r.count <= crowd) {
    rank = 0;
#pragma unroll 4
    for (unsigned q = 0; q < r.count; ++q)
      rank += c.list[r.start + q] < k;
  }
  if (!c.in_order || r.count <= crowd)
    put(b, i, r, static_cast<I>(rank), k);
  if (k == leader) {
    settle(b.a, i, r, planned.sizes[k], r.length + static_cast<I>(r.count), b.found);
    c.of_row[i].count = 0;
  }
}

} // namespace
} // namespace tulle::simt
