// SPDX-License-Identifier: Apache-2.0

// What a product adds for entries behind the first segments of rows.
#pragma once
#include "cuda/dynamic/matrix.cuh"
#include "cuda/primitive/block.cuh"
#include "cuda/primitive/search.cuh"

namespace tulle::simt {
namespace {

// Rows that a block takes, its threads, and entries that it multiplies at a time. Rows of more are
// added up by all threads, one after the other.
constexpr int behind_rows = 128;
constexpr int behind_threads = 256;
constexpr int behind_entries = 512; // at least as many as rows

/// Entry p of those that a row has behind its first segment, times x.
template <class V, class I>
__device__ V term_behind(fragments<V, I> const& a, grown_row<I> const& g, I p, V const* x) {
  I const at = p < g.places ? g.begin + p : a.place_behind(1, g.row, p - g.places);
  return a.val[at] * __ldg(x + a.col[at]);
}

/// A thread's part of all that a row has there, segment by segment.
template <class V, class I>
__device__ V sum_behind(fragments<V, I> const& a, grown_row<I> const& g, V const* x) {
  V sum = 0;
  segment<I> s{g.begin, g.begin + g.places};
  I left = g.count;
  for (int level = 1; left > 0; ++level) {
    I const end = s.begin + (left < s.end - s.begin ? left : s.end - s.begin);
#pragma unroll 8
    for (I at = s.begin + static_cast<I>(threadIdx.x); at < end; at += behind_threads)
      sum = fma(a.val[at], __ldg(x + a.col[at]), sum);
    left -= end - s.begin;
    if (left > 0)
      s = a.behind(level, g.row);
  }
  return sum;
}

/// Rows that have more than long_behind there: behind_kernel leaves them to all blocks of
/// shared_kernel. All zero between products, but for what nobody reads.
template <class V, class I>
struct shared_rows {
  unsigned* count;  // of them
  unsigned* done;   // blocks that are through
  unsigned* ticket; // of a row: pieces that are through
  I* number;        // of a row, among those that have grown
  V* part;          // sums of pieces, row by row
  std::size_t most_pieces;

  shared_rows() = default;
  shared_rows(carver& c, std::size_t rows, std::size_t pieces) : most_pieces(pieces) {
    count = c.take<unsigned>(1);
    done = c.take<unsigned>(1);
    ticket = c.take<unsigned>(rows);
    number = c.take<I>(rows);
    part = c.take<V>(pieces);
  }
};

/// y += alpha times what rows have behind their first segments. A block's threads share its
/// entries, whatever the rows, and then each adds up those of its row, in their order: so the bits
/// follow from the entries alone. A warp that went through one row after the other took four times
/// as long on rmat, where all rows of a warp may have many. To do all but the last addition while
/// the product before ends, which csr's kernels would have to allow, was 1 % of a round.
template <class V, class I>
__global__ void __launch_bounds__(behind_threads)
    behind_kernel(V alpha, fragments<V, I> a, std::size_t n, V const* x, V* y,
                  shared_rows<V, I> others, bool shares) {
  __shared__ grown_row<I> rows[behind_rows];
  __shared__ int end[behind_rows], listed[behind_rows], count;
  __shared__ V term[behind_entries];
  __shared__ block_room<int> scan_room;
  __shared__ block_room<V> sum_room;
  wait_for_launch_before();
  int const t = threadIdx.x;
  // Rows that have most come early in a batch, and so in the list.
  std::size_t const k = blockIdx.x + t * std::size_t{gridDim.x};
  if (t == 0)
    count = 0;
  grown_row<I> g{};
  if (t < behind_rows && k < n)
    g = a.grown[k];
  if (shares && g.count > long_behind) {
    others.number[atomicAdd(others.count, 1u)] = static_cast<I>(k);
    g.count = 0;
  }
  bool const is_long = g.count > behind_entries;
  int const mine = is_long || g.count < 0 ? 0 : static_cast<int>(g.count);
  int const begin = block_exclusive_scan<behind_threads>(mine, scan_room);
  if (t < behind_rows) {
    rows[t] = g;
    end[t] = begin + mine;
  }
  if (is_long)
    listed[atomicAdd(&count, 1)] = t;
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
  for (int q = 0; q < count; ++q) {
    V const part = block_reduce<behind_threads>(sum_behind(a, rows[listed[q]], x), sum_room);
    if (t == 0)
      term[listed[q]] = part;
  }
  __syncthreads();
  if (g.count > 0)
    y[g.row] = fma(alpha, is_long ? term[t] : sum, y[g.row]);
}

// Entries that a block sums up of a row that all of them share, and blocks for all such rows. Other
// numbers have not been measured.
constexpr int shared_piece = 2048;
constexpr std::size_t shared_blocks = 256;

/// The same for rows that blocks share, in pieces of as many entries, whatever the blocks. Who is
/// the last with a piece of a row adds up all of them, in their order. On circuit 2000000 a tenth
/// behind is 67000 entries in each of three rows: products took .39 ms with a block for each, .20
/// so. To let its blocks begin while behind_kernel runs made that .21.
template <class V, class I>
__global__ void __launch_bounds__(behind_threads)
    shared_kernel(V alpha, fragments<V, I> a, shared_rows<V, I> s, V const* x, V* y) {
  __shared__ grown_row<I> rows[behind_threads];
  __shared__ int end[behind_threads]; // pieces
  __shared__ bool is_last;
  __shared__ block_room<int> scan_room;
  __shared__ block_room<V> sum_room;
  wait_for_launch_before();
  unsigned const t = threadIdx.x, n = *s.count;
  unsigned before = 0; // pieces of rows before these
  for (unsigned q0 = 0; q0 < n; q0 += behind_threads) {
    grown_row<I> g{};
    if (q0 + t < n)
      g = a.grown[s.number[q0 + t]];
    int const mine = static_cast<int>(ceil_div(g.count, I(shared_piece)));
    int const begin = block_exclusive_scan<behind_threads>(mine, scan_room);
    rows[t] = g;
    end[t] = begin + mine;
    __syncthreads();
    int const all = end[behind_threads - 1];
    for (int e = (blockIdx.x + gridDim.x - before % gridDim.x) % gridDim.x; e < all;
         e += gridDim.x) {
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
        s.part[before + e] = sum;
        __threadfence();
        is_last = atomicAdd(s.ticket + q0 + r, 1u) == static_cast<unsigned>(pieces - 1);
      }
      __syncthreads();
      if (is_last && t < 32) {
        __threadfence();
        V total = 0;
        for (int p = t; p < pieces; p += 32)
          total += __ldcg(s.part + before + first + p);
        total = reduce<32>(total);
        if (t == 0) {
          y[rows[r].row] = fma(alpha, total, y[rows[r].row]);
          s.ticket[q0 + r] = 0;
        }
      }
      __syncthreads();
    }
    before += static_cast<unsigned>(all);
    __syncthreads();
  }
  if (t == 0 && atomicInc(s.done, gridDim.x - 1) == gridDim.x - 1)
    *s.count = 0; // all have read it
}

/// Memory of rows that blocks share: laid out for more entries than there are, so that it stays so.
template <class V, class I>
shared_rows<V, I> room_for_shared(matrix<V, I>& m) {
  std::size_t const behind = m.entries - m.in_first;
  auto const lay = [](carver&& c, std::size_t entries, std::size_t* bytes = nullptr) {
    std::size_t const rows = entries / long_behind + 1;
    shared_rows<V, I> const s(c, rows, entries / shared_piece + rows);
    if (bytes)
      *bytes = c.used();
    return s;
  };
  if (m.shared_for < behind) {
    std::size_t bytes = 0;
    lay(carver(), 2 * behind, &bytes);
    m.shared = m.take(bytes, 1);
    m.shared_for = 2 * behind;
    TULLE_CUDA(cudaMemsetAsync, m.shared.template as<char>(), 0, m.shared.bytes(), m.stream());
  }
  return lay(carver(m.shared.template as<char>()), m.shared_for);
}

} // namespace
} // namespace tulle::simt
