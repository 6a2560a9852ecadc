// SPDX-License-Identifier: Apache-2.0

// Rows of up to `few` entries of a compact matrix put in the order of columns, in place.
//
// A block has its rows in shared memory. Entries out of order are most often those inserted last,
// after a part that ascends. One thread inserts the unsorted entries of a short row; of a longer
// row a warp ranks the unsorted entries among themselves, then each part by a search in the other.
// Bytes that must move, double with 32-bit indices: 12 per entry to read, 12 for those of rows that
// change.
#pragma once
#include "cuda/dynamic/matrix.cuh"
#include "cuda/primitive/search.cuh"
#include "cuda/spmv/rows.cuh"

namespace tulle::kernels::cuda {
namespace {

// A block's rows begin within this many entries, and have up to so many: only the last row of a
// block can be longer, and is skipped.
constexpr int few = 1024;
constexpr int few_room = 2 * few;
// Rows of up to this many entries are sorted by a thread, longer ones by a warp. Other numbers have
// not been measured.
constexpr int by_thread = 32;

/// Rows of a block in shared memory.
template <class V, class I>
struct rows_here {
  I col[few_room];
  V val[few_room];
  unsigned short unsorted[few_room], order[few_room]; // of rows that warps sort
  unsigned moved[few_room / 32];                      // bits: entries that must be written
  int longer[few_room / by_thread];                   // rows for warps, minus the block's first
  int longer_count;

  /// Inserts the entries from `down` on into [begin, down), which ascends; entries of one column
  /// keep their order, or are added up. Returns the place of the last one.
  __device__ int insert(int begin, int down, int end, bool combine) {
    int n = down;
    for (int e = down; e < end; ++e) {
      I const c = col[e];
      V const v = val[e];
      int to = n;
      while (to > begin && col[to - 1] > c)
        --to;
      if (combine && to > begin && col[to - 1] == c) {
        val[to - 1] += v;
        continue;
      }
      for (int q = n++; q > to; --q) {
        col[q] = col[q - 1];
        val[q] = val[q - 1];
      }
      col[to] = c;
      val[to] = v;
    }
    for (int e = begin; e < n;) { // one word at a time
      int const bits = min(32 - e % 32, n - e);
      atomicOr(&moved[e / 32], 0xffffffffu >> (32 - bits) << e % 32);
      e += bits;
    }
    return n;
  }

  /// Computes order[begin..end) by a warp, where [begin, down) ascends.
  __device__ void rank(int begin, int down, int end) {
    int const lane = threadIdx.x % 32;
    for (int e = down + lane; e < end; e += 32) {
      I const c = col[e];
      int before = 0;
      for (int q = down; q < end; ++q)
        before += col[q] < c || (q < e && col[q] == c);
      unsorted[down + before] = static_cast<unsigned short>(e);
    }
    __syncwarp();
    for (int e = begin + lane; e < end; e += 32) {
      int who = e, at = e;
      if (e < down) {
        int low = down, high = end;
        while (low < high) {
          int const middle = (low + high) / 2;
          if (col[unsorted[middle]] < col[e])
            low = middle + 1;
          else
            high = middle;
        }
        at += low - down;
      } else {
        who = unsorted[e];
        at = e - (down - begin) + upper_bound(col + begin, down - begin, col[who]);
      }
      order[at] = static_cast<unsigned short>(who);
    }
    __syncwarp();
  }

  /// Writes entries [begin, end) in order to to_col and to_val, by a warp; returns their number.
  __device__ int put(int begin, int end, bool combine, I* to_col, V* to_val) const {
    int const lane = threadIdx.x % 32;
    int n = 0;
    for (int z0 = begin; z0 < end; z0 += 32) {
      int const z = z0 + lane;
      bool const is_head =
          z < end && (!combine || z == begin || col[order[z]] != col[order[z - 1]]);
      unsigned const all = __ballot_sync(whole_warp, is_head);
      if (is_head) {
        I const c = col[order[z]];
        V sum = val[order[z]];
        for (int next = z + 1; combine && next < end && col[order[next]] == c; ++next)
          sum += val[order[next]];
        int const at = n + __popc(all & ((1u << lane) - 1));
        to_col[at] = c;
        to_val[at] = sum;
      }
      n += __popc(all);
    }
    return n;
  }
};

/// The first entry of a row whose column does not exceed the one before, by a warp.
template <class I>
__device__ int first_descent(I const* col, int begin, int end) {
  int down = end;
  for (int e = begin + 1 + static_cast<int>(threadIdx.x % 32); e < end && down == end; e += 32)
    if (col[e] <= col[e - 1])
      down = e;
  return __reduce_min_sync(whole_warp, down);
}

template <class V, class I>
__global__ void __launch_bounds__(each_threads)
    order_kernel(I const* first, I const* first_row, I* to_col, V* to_val, I* length, bool combine,
                 unsigned long long* removed) {
  __shared__ rows_here<V, I> here;
  int const t = threadIdx.x;
  I const from = first_row[blockIdx.x], to = first_row[blockIdx.x + 1];
  if (from >= to)
    return;
  I const k0 = first[from];
  segment<I> const last{first[to - 1], first[to]};
  int const n = static_cast<int>((last.end - last.begin > few ? last.begin : last.end) - k0);
  segment<I> mine{};
  if (from + t < to)
    mine = {first[from + t], first[from + t + 1]};
  for (int e = t; e < n; e += each_threads) {
    here.col[e] = to_col[k0 + e];
    here.val[e] = to_val[k0 + e];
  }
  for (int w = t; w < few_room / 32; w += each_threads)
    here.moved[w] = 0;
  if (t == 0)
    here.longer_count = 0;
  __syncthreads();
  unsigned long long gone = 0;
  for (I i = from + t; i < to; i += each_threads) {
    if (i != from + t)
      mine = {first[i], first[i + 1]};
    int const begin = static_cast<int>(mine.begin - k0);
    if (mine.end - k0 > n || mine.end - mine.begin < 2)
      continue;
    int const end = static_cast<int>(mine.end - k0);
    if (end - begin > by_thread) {
      here.longer[atomicAdd(&here.longer_count, 1)] = static_cast<int>(i - from);
      continue;
    }
    int down = begin + 1;
    while (down < end && here.col[down] > here.col[down - 1])
      ++down;
    if (down == end)
      continue;
    int const kept = here.insert(begin, down, end, combine);
    if (kept != end) {
      length[i] = static_cast<I>(kept - begin);
      gone += static_cast<unsigned long long>(end - kept);
    }
  }
  __syncthreads();
  for (int e = t; e < n; e += each_threads)
    if (here.moved[e / 32] >> e % 32 & 1) {
      to_col[k0 + e] = here.col[e];
      to_val[k0 + e] = here.val[e];
    }
  for (int k = t / 32; k < here.longer_count; k += each_threads / 32) {
    I const i = from + here.longer[k];
    int const begin = static_cast<int>(first[i] - k0), end = static_cast<int>(first[i + 1] - k0);
    int const down = first_descent(here.col, begin, end);
    if (down == end)
      continue;
    here.rank(begin, down, end);
    int const kept = here.put(begin, end, combine, to_col + k0 + begin, to_val + k0 + begin);
    if (t % 32 == 0 && kept != end - begin) {
      length[i] = static_cast<I>(kept);
      gone += static_cast<unsigned long long>(end - begin - kept);
    }
  }
  fold_warp<sum>(gone, removed);
}

/// Sorts all of them; entries that are added to others leave holes, and are counted.
template <class V, class I>
void order_short_rows(matrix<V, I>& m, I* first_row, bool combine, unsigned long long* removed) {
  std::size_t const blocks = ceil_div<std::size_t>(m.entries, few);
  I const* const first = m.first.template as<I>();
  launch(first_rows_kernel<I, I>, ceil_div<std::size_t>(blocks + 1, row_threads), row_threads,
         m.o.queue, m.rows, first, first_row, blocks, std::size_t{few});
  launch(order_kernel<V, I>, blocks, each_threads, m.o.queue, first,
         static_cast<I const*>(first_row), m.col.template as<I>(), m.val.template as<V>(),
         m.length.template as<I>(), combine, removed);
}

} // namespace
} // namespace tulle::kernels::cuda
