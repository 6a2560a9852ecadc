// SPDX-License-Identifier: Apache-2.0

// y = alpha A x + beta y over csr in equal shares, whatever the rows: `merge`, equal steps of the
// merge path of row ends and entries (Merrill & Garland, SC 2016), and `segments`, equal numbers of
// entries, by a segmented sum (Liu, thesis 2015, sec. 8.3.2). There segment n is row n of the
// share; in a share with empty rows each row looks up its segment before y is written. A row within
// several shares is summed in parts, which are joined in order.
#pragma once
#include "cuda/primitive/block.cuh"
#include "cuda/spmv/rows.cuh"

namespace tulle::kernels::cuda {
namespace {

constexpr int tile_threads = 256;
constexpr int items = 7; // per thread; odd, so that neighbours' places are in different banks
constexpr int share = tile_threads * items;
/// Fewer where values take twice the shared memory.
template <class V>
constexpr int items_of = sizeof(V) <= 8 ? items : 3;
template <class V>
constexpr int share_of = tile_threads* items_of<V>;

/// The plan of shares.
template <class V, class I>
struct shares {
  I* first; // shares + 1: rows that end, or begin, before a share
  // Parts of the row that began in a share before, and of the row that continues in the next.
  V *head, *tail;
  std::size_t count;
};
template <class I, class O>
__global__ void crossings_kernel(I rows, O nnz, O const* row_ptr, I* first, std::size_t count,
                                 std::size_t step) {
  std::size_t const b = blockIdx.x * std::size_t{row_threads} + threadIdx.x;
  if (b > count)
    return;
  std::size_t const d = b * step;
  std::size_t const all = static_cast<std::size_t>(rows) + static_cast<std::size_t>(nnz);
  first[b] = d >= all ? rows : merge_path(row_ptr + 1, rows, nnz, static_cast<long long>(d));
}

// The first entries of shares of the merge path.
template <int share, class I, class O>
__device__ O entry_at(std::size_t b, I first, I rows, O nnz) {
  std::size_t const all = static_cast<std::size_t>(rows) + static_cast<std::size_t>(nnz);
  std::size_t const d = b * share < all ? b * share : all;
  return static_cast<O>(d - static_cast<std::size_t>(first));
}

template <class V, class I, class O>
__global__ void __launch_bounds__(tile_threads)
    merge_kernel(V alpha, lines<V, I, O> a, V const* x, V beta, V* y, shares<V, I> s) {
  constexpr int items = items_of<V>, share = share_of<V>;
  wait_for_launch_before();
  __shared__ V product[share];
  __shared__ V row_sum[share + 1];
  __shared__ int row_end[share + 1]; // minus the share's first entry
  __shared__ block_room<V> room;
  std::size_t const b = blockIdx.x;
  I const r0 = s.first[b];
  I const r1 = s.first[b + 1];
  O const k0 = entry_at<share>(b, r0, a.rows, a.nnz);
  O const k1 = entry_at<share>(b + 1, r1, a.rows, a.nnz);
  int const rows = static_cast<int>(r1 - r0);
  int const entries = static_cast<int>(k1 - k0);
  multiply<tile_threads, false, items>(a, x, k0, entries, product);
  for (int i = threadIdx.x; i <= rows; i += tile_threads) {
    O const end = r0 + i < a.rows ? a.row_ptr[r0 + i + 1] : a.nnz;
    row_end[i] = end < k1 ? static_cast<int>(end - k0) : entries;
    row_sum[i] = 0;
  }
  __syncthreads();
  int const d = min(static_cast<int>(threadIdx.x) * items, rows + entries);
  int row = merge_path(row_end, rows, entries, d);
  int k = d - row;
  int const steps = min(items, rows + entries - d);
  int const before = row;
  V sum = 0;
  for (int step = 0; step < steps; ++step)
    if (row < rows && k >= row_end[row]) {
      row_sum[row++] = sum;
      sum = 0;
    } else {
      sum += product[k++];
    }
  // The sum that the threads before have of this thread's first row.
  V const carried = block_segmented_scan<tile_threads>(sum, row != before, room);
  __syncthreads();
  if (row != before)
    row_sum[before] += carried;
  if (threadIdx.x == tile_threads - 1) // no step follows the last ones
    row_sum[rows] = row != before ? sum : carried + sum;
  __syncthreads();
  bool const goes_on = r0 < a.rows && a.row_ptr[r0] < k0; // the first row began in a share before
  for (int i = threadIdx.x; i < rows; i += tile_threads)
    if (i == 0 && goes_on)
      s.head[b] = row_sum[0];
    else
      update(y + r0 + i, alpha, row_sum[i], beta);
  if (threadIdx.x == 0) {
    if (rows == 0 && goes_on)
      s.head[b] = row_sum[0];
    else
      s.tail[b] = row_sum[rows];
  }
}

// A warp adds up the parts of a row that begins in share b and ends in share `last`.
template <class V, class I>
__device__ void join_parts(shares<V, I> const& s, std::size_t b, std::size_t last, V alpha, V beta,
                           V* y) {
  int const lane = threadIdx.x % 32;
  V sum = lane == 0 ? s.tail[b] : V(0);
  for (std::size_t c = b + 1 + lane; c <= last; c += 32)
    sum += s.head[c];
  sum = reduce<32>(sum);
  if (lane == 0)
    update(y, alpha, sum, beta);
}

// One warp per share: the row that begins in it and ends in a later one.
template <class V, class I, class O>
__global__ void merge_join_kernel(V alpha, lines<V, I, O> a, V beta, V* y, shares<V, I> s) {
  constexpr int share = share_of<V>;
  wait_for_launch_before();
  std::size_t const b = (blockIdx.x * std::size_t{row_threads} + threadIdx.x) / 32;
  if (b >= s.count)
    return;
  I const row = s.first[b + 1];
  if (row >= a.rows)
    return;
  O const k0 = entry_at<share>(b, s.first[b], a.rows, a.nnz);
  O const k1 = entry_at<share>(b + 1, row, a.rows, a.nnz);
  O const begin = a.row_ptr[row];
  if (begin < k0 || begin >= k1)
    return;
  // The share in which the row ends, by the place of its end on the path.
  std::size_t const last =
      (static_cast<std::size_t>(row) + static_cast<std::size_t>(a.row_ptr[row + 1])) / share;
  join_parts(s, b, last, alpha, beta, y + row);
}

template <class V, class I, class O, class More>
__device__ void multiply_segments(V alpha, lines<V, I, O> const& a, V const* x, V beta, V* y,
                                  shares<V, I> const& s, More more) {
  constexpr int items = items_of<V>, share = share_of<V>;
  // Products of entries, and then sums of segments; segment 0 is the row that began in a share
  // before. With two arrays less of L1 is left for x, which is the bottleneck: with 32 instead of
  // 20 KB, six blocks each, rmat 20 took 1.15 times as long, circuit 1.07; with seven blocks of 32
  // KB, 1.5 and 1.4; with eight instead of six blocks of 20 KB, 1.08 and 1.02.
  __shared__ V product[share + 1];
  __shared__ V waiting[More::room > 0 ? More::room : 1];
  __shared__ unsigned short begins[share]; // whether a segment begins, then its number
  __shared__ block_room<V> room;
  __shared__ block_room<int> count_room;
  __shared__ int segments;
  std::size_t const b = blockIdx.x;
  O const k0 = static_cast<O>(b * share);
  int const entries = static_cast<int>(a.nnz - k0 < share ? a.nnz - k0 : share);
  I const r0 = s.first[b];
  I const r1 = s.first[b + 1];
  more.look();
  more.ask(x, waiting);
  multiply<tile_threads, false, items>(a, x, k0, entries, product);
  for (int k = threadIdx.x; k < share; k += tile_threads) {
    begins[k] = 0;
    if (k >= entries)
      product[k] = 0;
  }
  __syncthreads();
  for (std::size_t i = static_cast<std::size_t>(r0) + threadIdx.x; i < static_cast<std::size_t>(r1);
       i += tile_threads)
    if (a.row_ptr[i] < k0 + entries)
      begins[a.row_ptr[i] - k0] = 1;
  if (more.is_any())
    more.add(x, waiting, k0, entries, r0, r1, product);
  else
    __syncthreads();
  int const from = threadIdx.x * items;
  int mine = 0;
  V one[items];
#pragma unroll
  for (int j = 0; j < items; ++j) {
    mine += begins[from + j];
    one[j] = product[from + j];
  }
  int const before = block_exclusive_scan<tile_threads>(mine, count_room);
  if (threadIdx.x == tile_threads - 1)
    segments = before + mine;
  V sum = 0;
  int segment = before;
#pragma unroll
  for (int j = 0; j < items; ++j) {
    if (begins[from + j]) {
      product[segment++] = sum;
      begins[from + j] = static_cast<unsigned short>(segment);
      sum = 0;
    }
    sum += one[j];
  }
  V const carried = block_segmented_scan<tile_threads>(sum, mine != 0, room);
  __syncthreads();
  if (mine != 0)
    product[before] += carried;
  if (threadIdx.x == tile_threads - 1)
    product[segments] = mine != 0 ? sum : carried + sum;
  __syncthreads();
  // Segment n is row r0 + n - 1, unless rows are empty: then each row searches for its segment. If
  // segments searched for their rows, graphs with empty rows took 1.2 times as long.
  bool const has_empty = static_cast<std::size_t>(r1 - r0) != static_cast<std::size_t>(segments);
  if (threadIdx.x == 0)
    s.head[b] = product[0];
  for (std::size_t i = static_cast<std::size_t>(r0) + threadIdx.x; i < static_cast<std::size_t>(r1);
       i += tile_threads) {
    O const begin = a.row_ptr[i], end = a.row_ptr[i + 1];
    int n = static_cast<int>(i - static_cast<std::size_t>(r0)) + 1;
    if (has_empty && begin != end)
      n = begins[begin - k0];
    if (begin != end && end > k0 + entries)
      s.tail[b] = product[n];
    else
      update(y + i, alpha, begin != end ? product[n] : V(0), beta);
  }
  more.finish(alpha, x, y, r0, r1);
}

template <class V, class I, class O>
__global__ void __launch_bounds__(tile_threads)
    segments_kernel(V alpha, lines<V, I, O> a, V const* x, V beta, V* y, shares<V, I> s) {
  wait_for_launch_before();
  multiply_segments(alpha, a, x, beta, y, s, nothing_more());
}

// One warp per share: the last row that begins in it, if that ends in a later one.
template <class V, class I, class O>
__global__ void segments_join_kernel(V alpha, lines<V, I, O> a, V beta, V* y, shares<V, I> s) {
  constexpr int share = share_of<V>;
  wait_for_launch_before();
  std::size_t const b = (blockIdx.x * std::size_t{row_threads} + threadIdx.x) / 32;
  if (b >= s.count || s.first[b + 1] == s.first[b])
    return;
  auto const k1 = static_cast<O>((b + 1) * share < static_cast<std::size_t>(a.nnz)
                                     ? (b + 1) * share
                                     : static_cast<std::size_t>(a.nnz));
  I const row = s.first[b + 1] - 1;
  if (a.row_ptr[row + 1] <= k1)
    return;
  std::size_t const last = static_cast<std::size_t>(a.row_ptr[row + 1] - 1) / share;
  join_parts(s, b, last, alpha, beta, y + row);
}

} // namespace
} // namespace tulle::kernels::cuda
