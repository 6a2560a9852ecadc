// SPDX-License-Identifier: Apache-2.0

// The path through rows and entries (Merrill & Garland, SC 2016), cut into tiles of a fixed number
// of steps; a step is an entry or a row end. Threads are dealt chunks of tiles; a row that a tile's
// end cuts is summed in pieces, and the pieces are added in order. Where tiles end depends on the
// matrix alone, so the bits do not depend on the number of threads, one row of any length is shared
// by all of them, and a million empty rows are shared like other work.
#pragma once
#include "kernel/chunks.hpp"
#include "kernel/simd.hpp"
#include "kernel/spmv.hpp"

namespace tulle::kernels::TULLE_ISA {
namespace {

// 2048 and 32768: within 3 % of 8192 on twelve generated matrices, two threads of Zen 4.
constexpr std::int64_t tile_steps = 8192;

/// The number of rows that end before step `at` of the path.
template <class O>
std::int64_t rows_before(O const* ptr, std::int64_t rows, std::int64_t at) {
  std::int64_t lo = 0;
  std::int64_t hi = rows;
  while (lo < hi) { // row i ends at step ptr[i + 1] + i
    std::int64_t const mid = (lo + hi) / 2;
    if (static_cast<std::int64_t>(ptr[mid + 1]) + mid < at)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/// What a chunk of tiles leaves when all have ended.
template <class V>
struct chunk_end {
  bool fresh;       // begun by a thread that did not run the chunk before it: a seam
  std::int64_t row; // open at the chunk's end, where that is a seam; -1: none
  V sum;            // of that row so far
};

/// How tiles are dealt, and the layout of the workspace: one piece per tile, one end per chunk, one
/// share per thread.
template <class V>
struct rows_layout {
  std::int64_t tiles;
  std::int64_t chunks;
  std::size_t ends_at;
  std::size_t shares_at;
  std::size_t bytes;

  rows_layout(std::int64_t rows, std::int64_t nnz, int threads)
      : tiles((rows + nnz + tile_steps - 1) / tile_steps),
        chunks(tiles < threads * chunks_per_thread ? tiles : threads * chunks_per_thread) {
    ends_at = after(static_cast<std::size_t>(tiles) * sizeof(V));
    shares_at = ends_at + after(static_cast<std::size_t>(chunks) * sizeof(chunk_end<V>));
    bytes = tiles > 1 ? shares_at + static_cast<std::size_t>(threads) * sizeof(share) : 0;
  }
  static constexpr std::size_t after(std::size_t n) { return (n + 63) / 64 * 64; }
  std::int64_t first_tile(std::int64_t chunk) const { return tiles * chunk / chunks; }
};

template <class V>
std::size_t rows_workspace(std::int64_t rows, std::int64_t nnz, int threads) {
  return rows_layout<plain<V>>(rows, nnz, threads).bytes;
}

/// Whether row i is open before a step of the path that k entries lie before.
template <class O>
HWY_INLINE bool is_cut(O const* ptr, std::int64_t rows, std::int64_t i, std::int64_t k) {
  return i < rows && k > static_cast<std::int64_t>(ptr[i]);
}

/// Rows that chunks of different threads share, pieces in order: the same additions as if one
/// thread had gone through. head: of each tile, the piece of a row that was open when it began.
template <class V, class O>
void join_seams(rows_layout<V> const& layout, V const* head, chunk_end<V> const* ends, V alpha,
                O const* ptr, std::int64_t rows, V beta, V* y, bool overwrite, plan_view const& p) {
  V sum{};
  for (std::int64_t chunk = 0; chunk < layout.chunks;) {
    std::int64_t next = chunk + 1; // the next seam: one thread ran all chunks before it
    while (next < layout.chunks && !ends[next].fresh)
      ++next;
    std::int64_t tile = layout.first_tile(chunk);
    std::int64_t const last = layout.first_tile(next);
    std::int64_t const i = rows_before(ptr, rows, tile * tile_steps);
    if (is_cut(ptr, rows, i, tile * tile_steps - i)) {
      std::int64_t const row_end = static_cast<std::int64_t>(ptr[i + 1]) + i; // a step of the path
      for (; tile < last && row_end >= (tile + 1) * tile_steps; ++tile)
        sum = sum + head[tile];
      if (tile < last) {
        update(y + i, alpha, sum + head[tile], beta, overwrite);
        if (p.done)
          (*p.done)(i, i + 1);
      }
    }
    if (ends[next - 1].row >= 0)
      sum = ends[next - 1].sum;
    chunk = next;
  }
}

} // namespace
} // namespace tulle::kernels::TULLE_ISA
